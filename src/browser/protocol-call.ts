// browser_cdp: any protocol call, routed to the right session. Into a cross-origin frame by its id, to a tab, or to the
// browser itself. What reaches files, breaks the supervisor or leaves its guard is refused.

import type { CommandResult } from './cdp/protocol.ts';
import { type FrameTree, readFrameTree } from './cdp/protocol.ts';
import { isWebAddress, NOT_WEB } from './guard.ts';
import type { Frame, Page } from './state.ts';
import { type BrowserResult, failure, type TaskBrowser } from './task-browser.ts';

export interface ProtocolCall {
  method: string;
  params: Record<string, unknown>;
  frameId: string | undefined;
  targetId: string | undefined;
  deadlineMs: number;
}

const TREE_MS = 1500;
const BROWSER_DOMAINS = /^(Browser|Target|SystemInfo|Storage|IO|Tracing)\./;
// For nobody: what reads or writes files of this machine, opens ports on it, hands the protocol on (to a page or inside
// another message), or takes the interception away from the supervisor.
const REFUSED =
  /^(Fetch|Extensions|PWA|Tethering)\.|^DOM\.setFileInputFiles$|^Page\.setDownloadBehavior$|^Browser\.(?!(get\w+|setWindowBounds|setContentsSize|setPermission|grantPermissions|resetPermissions)$)|^Target\.(?!(get\w+|createTarget|closeTarget|activateTarget)$)/;
// A task with text from outside, or one that is kept from private addresses, must find no way around its guard either.
const GUARDED =
  /^(Target|Browser|SystemInfo|IO|Tracing|Network|ServiceWorker|Storage|Debugger)\.|^Page\.(setBypassCSP|addScriptToEvaluateOnNewDocument|navigateToHistoryEntry)$/;
// These go to the address; elsewhere `url` may be a pattern.
const GOING = /^(Page\.navigate|Target\.createTarget|Network\.loadNetworkResource)$/;

/** Where a call goes, or why it cannot. */
export type Route =
  | { kind: 'session'; sessionId: string | undefined; page: Page | undefined }
  | { kind: 'refused'; result: BrowserResult };

/** Throws `invalid_input` for a tab that shows something else than the web. */
export function routeCall(browser: TaskBrowser, call: ProtocolCall): Route {
  const { state } = browser;
  const refused = (code: string, message: string, help: string): Route => ({
    kind: 'refused',
    result: failure(code, message, help),
  });
  if (!/^[A-Z][A-Za-z]*\.[a-z][A-Za-z]*$/.test(call.method)) {
    return refused(
      'cdp_error',
      `${JSON.stringify(call.method)} is not a protocol method.`,
      'Write it as Domain.method.',
    );
  }
  const { allowPrivate, trusted } = browser.reach;
  if (REFUSED.test(call.method) || ((!allowPrivate || !trusted) && GUARDED.test(call.method)) || bringsFiles(call)) {
    return refused('cdp_error', `${call.method} is not available to this task.`, 'Use the other browser tools.');
  }
  if (leavesWeb(call)) return refused('invalid_input', NOT_WEB.message, NOT_WEB.help);
  if (call.frameId !== undefined) {
    const found = findFrame(browser, call.frameId);
    if (found === undefined) {
      return refused(
        'frame_not_found',
        `No frame has the id ${call.frameId}.`,
        'Frames change: take a new browser_snapshot and use a frame_id of its frame_tree.',
      );
    }
    if (!found.frame.isOopif) {
      return refused(
        'frame_not_oopif',
        `Frame ${call.frameId} has no session of its own.`,
        'Reach it through contentWindow or contentDocument from a top-level Runtime.evaluate (without frame_id).',
      );
    }
    browser.requireWeb(found.page.id);
    return { kind: 'session', sessionId: found.frame.sessionId, page: found.page };
  }
  if (call.method === 'Target.closeTarget' && findFrame(browser, String(call.params.targetId))?.frame.isOopif) {
    return refused(
      'cdp_error',
      'Closing the target of a frame would close its whole tab.',
      'Close tabs with browser_tabs.',
    );
  }
  if (call.targetId === undefined && BROWSER_DOMAINS.test(call.method))
    return { kind: 'session', sessionId: undefined, page: undefined };
  const page = state.pages.get(call.targetId ?? state.currentPageId ?? '');
  if (page === undefined) {
    return refused('not_found', 'There is no such tab.', 'List the open tabs with browser_tabs.');
  }
  // The way out stays open.
  if (call.method !== 'Page.navigate') browser.requireWeb(page.id);
  return { kind: 'session', sessionId: page.sessionId, page };
}

/** Dropping files on a page uploads them. */
function bringsFiles({ method, params }: ProtocolCall): boolean {
  return method === 'Input.dispatchDragEvent' && JSON.stringify(params.data ?? null).includes('"files"');
}

function leavesWeb({ method, params: { url } }: ProtocolCall): boolean {
  if (url === undefined || url === '' || method.startsWith('Debugger.')) return false;
  if (GOING.test(method)) return typeof url !== 'string' || !isWebAddress(url);
  return typeof url === 'string' && URL.canParse(url) && !isWebAddress(url);
}

/** One call on its session. Rejects like `Supervisor.call`. */
export function sendCall(browser: TaskBrowser, call: ProtocolCall, sessionId: string | undefined): Promise<unknown> {
  return browser.supervisor.callAny(call.method, call.params, { sessionId, deadlineMs: call.deadlineMs });
}

/** The frame tree over all sessions. Chromium's own answer ends at cross-origin frames. Sessions that do not answer are told from memory. */
export async function wholeFrameTree(browser: TaskBrowser, page: Page): Promise<{ frameTree: FrameTree }> {
  const roots = [...page.frames.values()].filter((frame) => frame.isOopif || frame.id === page.rootFrameId);
  const trees = await Promise.all(
    roots.map(async (frame) => {
      const options = { sessionId: frame.sessionId, deadlineMs: TREE_MS };
      const reply = browser.blocked(page, frame.sessionId)
        ? undefined
        : await browser.supervisor.call('Page.getFrameTree', undefined, options).catch(() => undefined);
      return { frame, tree: readFrameTree(reply) ?? fromMemory(page, frame) };
    }),
  );
  const byId = new Map<string, FrameTree>();
  const enter = (tree: FrameTree) => {
    byId.set(tree.frame.id, tree);
    tree.childFrames?.forEach(enter);
  };
  for (const { tree } of trees) enter(tree);
  for (const { frame, tree } of trees) {
    const parent = byId.get(frame.parentId ?? '');
    if (frame.id === page.rootFrameId || parent === undefined || parent === tree) continue;
    tree.frame.parentId ??= parent.frame.id;
    parent.childFrames = [...(parent.childFrames ?? []).filter((child) => child.frame.id !== frame.id), tree];
  }
  const root = byId.get(page.rootFrameId) ?? fromMemory(page, undefined);
  return { frameTree: root };
}

function fromMemory(page: Page, frame: Frame | undefined): FrameTree {
  const local = [...page.frames.values()].filter((child) => child.parentId === frame?.id && !child.isOopif);
  const { id = page.rootFrameId, parentId, loaderId = '', url = '', origin = '' } = frame ?? {};
  const known = { id, loaderId, url, securityOrigin: origin, domainAndRegistry: '', mimeType: '' };
  return {
    frame: {
      ...known,
      ...(parentId === undefined ? {} : { parentId }),
    } as CommandResult<'Page.getFrameTree'>['frameTree']['frame'],
    ...(local.length > 0 ? { childFrames: local.map((child) => fromMemory(page, child)) } : {}),
  };
}

function findFrame(browser: TaskBrowser, frameId: string): { page: Page; frame: Frame } | undefined {
  for (const page of browser.state.pages.values()) {
    const frame = page.frames.get(frameId);
    if (frame !== undefined) return { page, frame };
  }
  return undefined;
}
