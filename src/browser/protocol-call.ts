// browser_cdp: any protocol call, routed to the right session. Into a cross-origin frame by its id, to a tab, or to the
// browser itself. What would break the supervisor or leave its guard is refused with a better way.

import type { CommandResult } from './cdp/protocol.ts';
import { type FrameTree, readFrameTree } from './cdp/protocol.ts';
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
// A guarded task must not lift its guard, read files of this machine, or open ways around the interception.
const GUARDED =
  /^(Fetch|Target|Browser|SystemInfo|IO|Tracing|Network|ServiceWorker|Storage|Debugger)\.|^DOM\.setFileInputFiles$|^Page\.(setDownloadBehavior|setBypassCSP|addScriptToEvaluateOnNewDocument|navigateToHistoryEntry)$/;

/** Where a call goes, or why it cannot. */
export type Route =
  | { kind: 'session'; sessionId: string | undefined; page: Page | undefined }
  | { kind: 'refused'; result: BrowserResult };

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
  if (!browser.reach.allowPrivate && GUARDED.test(call.method)) {
    return refused('cdp_error', `${call.method} is not available to this task.`, 'Use the other browser tools.');
  }
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
  return { kind: 'session', sessionId: page.sessionId, page };
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
