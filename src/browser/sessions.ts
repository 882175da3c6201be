// Which tabs, frames and workers the browser gave us a session for, what each is told when it arrives, and how they go.
// Nested sessions die without a word, so an end is always passed on to everything below.

import type { Protocol } from 'devtools-protocol';
import { BRIDGE_PATTERN, isBridged } from './bridge.ts';
import { BRIDGE_SCRIPT } from './bridge-script.ts';
import { dialogsLost } from './dialogs.ts';
import type { BrowserState, Change, Command, Page, Session, SupervisorSettings } from './state.ts';
import { pageOf, unchanged, withEntry, withPage } from './state.ts';

/** A page that has not answered by then holds something we cannot see. */
export const PROBE_MS = 1500;

export function attached(
  state: BrowserState,
  parentId: string | undefined,
  { sessionId, targetInfo, waitingForDebugger }: Protocol.Target.AttachedToTargetEvent,
  at: number,
): Change {
  const resume: Command = { kind: 'send', sessionId, method: 'Runtime.runIfWaitingForDebugger', params: {} };
  const { targetId, type } = targetInfo;
  if (parentId === undefined) {
    if (type !== 'page') return { state, commands: [resume] };
    const page: Page = {
      id: targetId,
      sessionId,
      openerId: targetInfo.openerId,
      rootFrameId: targetId,
      frames: new Map([[targetId, newFrame(targetId, undefined, sessionId, targetInfo.url)]]),
      loading: 'done',
      crashed: false,
      leaving: false,
      answers: { kind: 'asked', until: at + PROBE_MS },
    };
    const session: Session = { id: sessionId, parentId, kind: 'page', targetId, pageId: targetId };
    const known = withPage({ ...state, sessions: withEntry(state.sessions, sessionId, session) }, page);
    return {
      state: { ...known, currentPageId: state.currentPageId ?? targetId },
      commands: [...setUp(state.settings, session, true), resume],
    };
  }
  const parent = state.sessions.get(parentId);
  const page = parent && state.pages.get(parent.pageId);
  if (page === undefined) return { state, commands: [resume] };
  const kind = type === 'iframe' ? 'iframe' : 'worker';
  const session: Session = { id: sessionId, parentId, kind, targetId, pageId: page.id };
  const sessions = withEntry(state.sessions, sessionId, session);
  // A document that is already there announces nothing any more.
  const commands = [...setUp(state.settings, session, kind === 'iframe' && !waitingForDebugger), resume];
  if (kind === 'worker') return { state: { ...state, sessions }, commands };
  const old = page.frames.get(targetId);
  const frame = {
    ...newFrame(
      targetId,
      targetInfo.parentFrameId ?? old?.parentId ?? page.rootFrameId,
      sessionId,
      targetInfo.url || (old?.url ?? ''),
    ),
    isOopif: true,
  };
  return {
    state: withPage({ ...state, sessions }, { ...page, frames: withEntry(page.frames, targetId, frame) }),
    commands,
  };
}

export function detached(state: BrowserState, sessionId: string, at: number): Change {
  return dropSessions(state, [sessionId], 'its frame or tab was closed or navigated away', at);
}

/** The process behind a session died. A page stays, and a navigation revives it. */
export function crashed(state: BrowserState, sessionId: string, at: number): Change {
  const session = state.sessions.get(sessionId);
  const page = pageOf(state, sessionId);
  if (session === undefined || page === undefined) return unchanged(state);
  const reject: Command = { kind: 'reject_sessions', sessionIds: [sessionId], reason: 'the page crashed' };
  if (session.kind !== 'page') return { state, commands: [reject] };
  const below = [...state.sessions.values()].filter(({ parentId }) => parentId === sessionId).map(({ id }) => id);
  const dropped = dropSessions(state, below, 'the page crashed', at);
  const lost = dialogsLost(dropped.state, (dialog) => dialog.pageId === page.id, at);
  const current = lost.pages.get(page.id) ?? page;
  return {
    state: withPage(lost, { ...current, crashed: true, loading: 'done' }),
    commands: [...dropped.commands, reject],
  };
}

/** Forgets sessions and all that hangs on them: sessions below, frames, dialogs, and for a page session the page. */
export function dropSessions(state: BrowserState, ids: readonly string[], reason: string, at: number): Change {
  const dropped = withDescendants(state.sessions, ids);
  if (dropped.size === 0) return unchanged(state);
  const sessions = new Map([...state.sessions].filter(([id]) => !dropped.has(id)));
  const pages = new Map<string, Page>();
  for (const page of state.pages.values()) {
    if (dropped.has(page.sessionId)) continue;
    const affected = page.frames.size > 1 && [...page.frames.values()].some((frame) => dropped.has(frame.sessionId));
    pages.set(page.id, affected ? { ...page, frames: withoutSessions(page, dropped) } : page);
  }
  const currentPageId = pages.has(state.currentPageId ?? '') ? state.currentPageId : successor(state, pages);
  const kept = dialogsLost(
    { ...state, sessions, pages, currentPageId },
    (dialog) => isGone(dialog.pageId, dialog.sessionId),
    at,
  );
  return { state: kept, commands: [{ kind: 'reject_sessions', sessionIds: [...dropped], reason }] };

  function isGone(pageId: string, sessionId: string): boolean {
    return dropped.has(sessionId) || !pages.has(pageId);
  }
}

export function newFrame(id: string, parentId: string | undefined, sessionId: string, url: string) {
  return { id, parentId, url, origin: originOf(url), loaderId: '', sessionId, isOopif: false };
}

export function originOf(url: string): string {
  return URL.parse(url)?.origin ?? 'null';
}

export function frameTreeOf(sessionId: string): Command {
  return { kind: 'send', sessionId, method: 'Page.getFrameTree', params: {}, tag: { kind: 'frame_tree', sessionId } };
}

/** All written in one go and none awaited: a page that is blocked by a dialog answers none of it. */
function setUp(settings: SupervisorSettings, session: Session, askFrames: boolean): Command[] {
  const calls: [method: string, params: Record<string, unknown>][] = [];
  const bridged = isBridged(settings, session.kind);
  if (session.kind !== 'worker') calls.push(['Page.enable', {}], ['Log.enable', {}]);
  calls.push(['Runtime.enable', {}]);
  if (session.kind !== 'worker') {
    const filter = [{ type: 'iframe' }, { type: 'worker' }];
    calls.push(['Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter }]);
  }
  if (bridged) {
    if (settings.backend === 'hosted' && settings.bypassCsp) calls.push(['Page.setBypassCSP', { enabled: true }]);
    calls.push(['Page.addScriptToEvaluateOnNewDocument', { source: BRIDGE_SCRIPT, runImmediately: true }]);
  }
  const patterns = [
    ...(bridged ? [{ urlPattern: BRIDGE_PATTERN, requestStage: 'Request' }] : []),
    ...(settings.guardPrivate ? [{ urlPattern: '*', requestStage: 'Request' }] : []),
  ];
  if (patterns.length > 0) calls.push(['Fetch.enable', { patterns }]);
  if (settings.guardPrivate) {
    // What a service worker fetches passes no interception of the page.
    calls.push(['Network.enable', {}], ['Network.setBypassServiceWorker', { bypass: true }]);
  }
  const commands = calls.map(([method, params]): Command => ({ kind: 'send', sessionId: session.id, method, params }));
  // Asked early: switching on Runtime makes the page list every script context first.
  return askFrames ? commands.toSpliced(1, 0, frameTreeOf(session.id)) : commands;
}

function withDescendants(sessions: ReadonlyMap<string, Session>, ids: readonly string[]): Set<string> {
  const found = new Set(ids.filter((id) => sessions.has(id)));
  // A session is always entered after the one above it, so one pass in order finds all levels.
  for (const session of sessions.values()) {
    if (session.parentId !== undefined && found.has(session.parentId)) found.add(session.id);
  }
  return found;
}

function withoutSessions(page: Page, dropped: ReadonlySet<string>): Page['frames'] {
  return new Map([...page.frames].filter(([, frame]) => !dropped.has(frame.sessionId)));
}

/** The tab that takes over when the current one closes: the one that opened it, else the newest. */
function successor(state: BrowserState, pages: ReadonlyMap<string, Page>): string | undefined {
  const openerId = state.pages.get(state.currentPageId ?? '')?.openerId;
  return openerId !== undefined && pages.has(openerId) ? openerId : [...pages.keys()].at(-1);
}
