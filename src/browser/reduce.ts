// All rules of the supervisor: (state, event) to the next state and what to do for it. CDP events, the agent's answers
// and the passing of time all come in here; the shell around it performs commands and decides nothing.

import { isBridged, readBridgeRequest } from './bridge.ts';
import type { CdpEvent } from './cdp/protocol.ts';
import { readFrameTree } from './cdp/protocol.ts';
import { consoleCalled, exceptionThrown, logged } from './console.ts';
import type { DialogAnswer } from './dialogs.ts';
import {
  dialogAnswered,
  dialogAnswerReplied,
  dialogClosed,
  dialogOpened,
  dialogsExpired,
  dialogsLost,
  dismissAll,
  watchdogAt,
} from './dialogs.ts';
import { frameAttached, frameDetached, frameMovedWithin, frameNavigated, frameTreeKnown } from './frames.ts';
import { judgeUrl, letGo } from './guard.ts';
import { attached, crashed, detached } from './sessions.ts';
import type { BrowserState, Change, Command, Page, ReplyTag } from './state.ts';
import { pageOf, unchanged, withPage } from './state.ts';

export type SupervisorEvent = { at: number } & (
  | { kind: 'connected' }
  | { kind: 'connect_failed'; reason: string }
  /** `final`: the browser itself ended, there is nothing to reach again. */
  | { kind: 'disconnected'; reason: string; final: boolean }
  | { kind: 'cdp'; sessionId: string | undefined; event: CdpEvent }
  | { kind: 'reply'; tag: ReplyTag; failed: boolean; result: unknown }
  | { kind: 'looked_up'; sessionId: string; requestId: string; allowed: boolean }
  | { kind: 'answer'; answer: DialogAnswer }
  /** The agent leaves the page: what is open there, or opens until it is gone, is dismissed in its name. */
  | { kind: 'leave_page'; pageId: string }
  /** It did not come to that. */
  | { kind: 'stay_on_page'; pageId: string }
  | { kind: 'select_page'; pageId: string }
  | { kind: 'time' }
  | { kind: 'stop' }
);

const BEAT_EVERY_MS = 15_000;
const BEAT_DEADLINE_MS = 5000;
const RETRY_MS = [500, 1000, 2000, 4000, 8000];
/** A connection that breaks sooner than this counts as one more failed attempt. */
const STEADY_MS = 10_000;

export function reduce(state: BrowserState, event: SupervisorEvent): Change {
  const change = step(state, event);
  const before = nextWake(state);
  const after = nextWake(change.state);
  // The timer that brought us here has fired, so it must be set anew even when the instant is the same.
  if (before === after && event.kind !== 'time') return change;
  return { state: change.state, commands: [...change.commands, { kind: 'wake', at: after }] };
}

function step(state: BrowserState, event: SupervisorEvent): Change {
  const { at } = event;
  switch (event.kind) {
    case 'connected':
      return connected(state, at);
    case 'connect_failed':
      return retryLater(forgetBrowser(state, at), event.reason, at);
    case 'disconnected':
      if (state.link.kind === 'stopped') return unchanged(state);
      if (event.final) return unchanged({ ...forgetBrowser(state, at), link: { kind: 'gone', reason: event.reason } });
      return retryLater(forgetBrowser(state, at), event.reason, at);
    case 'cdp':
      return onCdp(state, event.sessionId, event.event, at);
    case 'reply':
      return onReply(state, event.tag, event.failed, event.result, at);
    case 'looked_up':
      return { state, commands: [letGo(event.sessionId, event.requestId, event.allowed)] };
    case 'answer':
      return dialogAnswered(state, event.answer, at);
    case 'leave_page':
      return dismissAll(withLeaving(state, event.pageId, true), 'agent', at, event.pageId);
    case 'stay_on_page':
      return unchanged(withLeaving(state, event.pageId, false));
    case 'select_page':
      return unchanged(state.pages.has(event.pageId) ? { ...state, currentPageId: event.pageId } : state);
    case 'time':
      return timePassed(state, at);
    case 'stop': {
      const dismissed = dismissAll(state, 'auto_policy', at);
      return { state: { ...dismissed.state, link: { kind: 'stopped' } }, commands: dismissed.commands };
    }
  }
}

function withLeaving(state: BrowserState, pageId: string, leaving: boolean): BrowserState {
  const page = state.pages.get(pageId);
  return page === undefined ? state : withPage(state, { ...page, leaving });
}

function connected(state: BrowserState, at: number): Change {
  const attempt = state.link.kind === 'connecting' ? state.link.attempt : 0;
  const link = {
    kind: 'connected',
    ready: false,
    attempt,
    since: at,
    nextBeatAt: at + BEAT_EVERY_MS,
    beatDueAt: undefined,
  } as const;
  const params = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter: [{ type: 'page' }] };
  return {
    state: { ...state, link },
    commands: [{ kind: 'send', method: 'Target.setAutoAttach', params, tag: { kind: 'ready' } }],
  };
}

/** After a lost connection every id is worthless; dialogs that were open cannot be reached any more. */
function forgetBrowser(state: BrowserState, at: number): BrowserState {
  const lost = dialogsLost(state, () => true, at);
  return { ...lost, pages: new Map(), sessions: new Map(), currentPageId: undefined };
}

function retryLater(state: BrowserState, reason: string, at: number): Change {
  const { link } = state;
  if (link.kind === 'gone' || link.kind === 'stopped') return unchanged(state);
  const steady = link.kind === 'connected' && at - link.since >= STEADY_MS;
  // Who cannot be reached at the very start is not waited for.
  if (link.kind === 'connecting' && link.attempt === 0) return unchanged({ ...state, link: { kind: 'gone', reason } });
  const retries = steady ? 0 : link.attempt;
  const delay = RETRY_MS[retries];
  if (delay === undefined) return unchanged({ ...state, link: { kind: 'gone', reason } });
  return unchanged({ ...state, link: { kind: 'waiting', attempt: retries + 1, retryAt: at + delay, reason } });
}

function timePassed(state: BrowserState, at: number): Change {
  const expired = dialogsExpired(state, at);
  const probed = probesExpired(expired.state, at);
  const { link } = probed;
  if (link.kind === 'waiting' && link.retryAt <= at) {
    const next = { ...probed, link: { kind: 'connecting', attempt: link.attempt } as const };
    return { state: next, commands: [...expired.commands, { kind: 'connect' }] };
  }
  if (link.kind === 'connected' && link.beatDueAt !== undefined && link.beatDueAt <= at) {
    const lost = retryLater(forgetBrowser(probed, at), 'The browser stopped answering.', at);
    return { state: lost.state, commands: [...expired.commands, { kind: 'disconnect' }] };
  }
  if (link.kind === 'connected' && link.beatDueAt === undefined && link.nextBeatAt <= at) {
    const beat: Command = { kind: 'send', method: 'Browser.getVersion', params: {}, tag: { kind: 'heartbeat' } };
    const next = { ...probed, link: { ...link, beatDueAt: at + BEAT_DEADLINE_MS } };
    return { state: next, commands: [...expired.commands, beat] };
  }
  return { state: probed, commands: expired.commands };
}

function probesExpired(state: BrowserState, at: number): BrowserState {
  const silent = [...state.pages.values()].filter(({ answers }) => answers.kind === 'asked' && answers.until <= at);
  return silent.reduce((next, page) => withPage(next, { ...page, answers: { kind: 'no' } }), state);
}

function onReply(state: BrowserState, tag: ReplyTag, failed: boolean, result: unknown, at: number): Change {
  const { link } = state;
  if (tag.kind === 'dialog_answer') return dialogAnswerReplied(state, tag.dialogId, failed, at);
  if (tag.kind === 'frame_tree') {
    const session = state.sessions.get(tag.sessionId);
    const page = session && state.pages.get(session.pageId);
    const tree = failed ? undefined : readFrameTree(result);
    return unchanged(page && tree ? frameTreeKnown(state, page, session, tree) : state);
  }
  if (link.kind !== 'connected') return unchanged(state);
  if (tag.kind === 'heartbeat') {
    return unchanged({ ...state, link: { ...link, nextBeatAt: at + BEAT_EVERY_MS, beatDueAt: undefined } });
  }
  if (!failed) return unchanged({ ...state, link: { ...link, ready: true } });
  const reason = 'The address answers, but not as a whole browser: a page address or another program.';
  return { state: { ...forgetBrowser(state, at), link: { kind: 'gone', reason } }, commands: [{ kind: 'disconnect' }] };
}

function onCdp(state: BrowserState, sessionId: string | undefined, event: CdpEvent, at: number): Change {
  if (event.method === 'Target.attachedToTarget') return attached(state, sessionId, event.params, at);
  if (event.method === 'Target.detachedFromTarget') return detached(state, event.params.sessionId, at);
  const session = state.sessions.get(sessionId ?? '');
  const page = pageOf(state, sessionId);
  if (session === undefined || page === undefined) return unchanged(state);
  switch (event.method) {
    case 'Inspector.targetCrashed':
      return crashed(state, session.id, at);
    case 'Page.javascriptDialogOpening': {
      const { type, message, frameId, defaultPrompt = '', hasBrowserHandler } = event.params;
      const source = { kind: 'native', hasBrowserHandler } as const;
      return dialogOpened(state, {
        type,
        message,
        defaultPrompt,
        openedAt: at,
        pageId: page.id,
        frameId,
        sessionId: page.sessionId,
        source,
      });
    }
    case 'Page.javascriptDialogClosed':
      return dialogClosed(state, page.id, event.params.frameId, at);
    case 'Fetch.requestPaused':
      return requestPaused(state, page, session.id, event.params, at);
    case 'Page.frameAttached':
      return unchanged(frameAttached(state, page, session, event.params));
    case 'Page.frameNavigated':
      return frameNavigated(state, page, session, event.params, at);
    case 'Page.navigatedWithinDocument':
      return unchanged(frameMovedWithin(state, page, event.params.frameId, event.params.url));
    case 'Page.frameDetached':
      return frameDetached(state, page, event.params, at);
    case 'Page.frameStartedLoading':
      return unchanged(
        event.params.frameId === page.rootFrameId ? withPage(state, { ...page, loading: 'document' }) : state,
      );
    case 'Page.domContentEventFired':
      return unchanged(
        session.kind === 'page' && page.loading === 'document'
          ? withPage(state, { ...page, loading: 'resources' })
          : state,
      );
    case 'Page.frameStoppedLoading':
      return unchanged(
        event.params.frameId === page.rootFrameId ? withPage(state, { ...page, loading: 'done' }) : state,
      );
    case 'Runtime.consoleAPICalled':
      return unchanged(consoleCalled(state, page.id, event.params, at));
    case 'Runtime.exceptionThrown':
      return unchanged(exceptionThrown(state, page.id, event.params, at));
    case 'Log.entryAdded':
      return unchanged(logged(state, page.id, event.params.entry, at));
  }
}

function requestPaused(
  state: BrowserState,
  page: Page,
  sessionId: string,
  { requestId, request, frameId }: { requestId: string; request: { url: string }; frameId: string },
  at: number,
): Change {
  const bridged = readBridgeRequest(request.url);
  if (bridged !== undefined && isBridged(state.settings, state.sessions.get(sessionId)?.kind ?? 'worker')) {
    const source = { kind: 'bridge', requestId } as const;
    return dialogOpened(state, { ...bridged, openedAt: at, pageId: page.id, frameId, sessionId, source });
  }
  // Paused for somebody who asked for it through browser_cdp: not ours to let go.
  if (!state.settings.guardPrivate) return unchanged(state);
  const verdict = judgeUrl(request.url);
  if (verdict.kind === 'look_up') return { state, commands: [{ ...verdict, sessionId, requestId }] };
  return { state, commands: [letGo(sessionId, requestId, verdict.kind === 'allowed')] };
}

/** When the shell has to come back without being called. */
function nextWake(state: BrowserState): number | undefined {
  const { link } = state;
  const times: number[] = [];
  if (link.kind === 'waiting') times.push(link.retryAt);
  if (link.kind === 'connected') {
    times.push(link.beatDueAt ?? link.nextBeatAt);
    for (const dialog of state.pendingDialogs) times.push(watchdogAt(state, dialog) ?? Number.POSITIVE_INFINITY);
    for (const { answers } of state.pages.values()) if (answers.kind === 'asked') times.push(answers.until);
  }
  const earliest = Math.min(...times);
  return Number.isFinite(earliest) ? earliest : undefined;
}
