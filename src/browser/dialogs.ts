// A dialog is recorded here: how it opens, who may answer, and how it ends. `closed_by` is settled before an answer is
// sent; a close that nobody announced came from the browser or another client and is `remote`.

import { pushBounded } from '../core/ring.ts';
import { bridgeAnswer } from './bridge.ts';
import type { BrowserState, Change, ClosedBy, Command, Dialog } from './state.ts';
import { unchanged } from './state.ts';

export const RECENT_DIALOGS = 20;

/** An answer of the agent, as the tool gives it. */
export interface DialogAnswer {
  dialogId: string;
  accept: boolean;
  promptText: string | undefined;
}

export function dialogOpened(state: BrowserState, opening: Omit<Dialog, 'id' | 'unanswerable' | 'answering'>): Change {
  const dialog: Dialog = { ...opening, id: `d-${state.dialogCount + 1}`, unanswerable: false };
  const next = withOverlap({ ...state, dialogCount: state.dialogCount + 1 }, dialog);
  const { policy } = state.settings;
  const opened = next.pendingDialogs.at(-1);
  if (opened === undefined) return unchanged(next);
  // A question whether to leave is for the agent even then.
  if (state.pages.get(opening.pageId)?.leaving && opening.type !== 'beforeunload') {
    return answerDialog(next, opened, { by: 'agent', accept: false, promptText: undefined }, opening.openedAt);
  }
  if (policy === 'must_respond') return unchanged(next);
  return answerDialog(
    next,
    opened,
    { by: 'auto_policy', accept: policy === 'auto_accept', promptText: undefined },
    opening.openedAt,
  );
}

/** The agent's answer. Does nothing when the dialog is no longer there or already being answered. */
export function dialogAnswered(state: BrowserState, answer: DialogAnswer, at: number): Change {
  const dialog = state.pendingDialogs.find(({ id }) => id === answer.dialogId);
  if (dialog === undefined || dialog.answering !== undefined) return unchanged(state);
  return answerDialog(state, dialog, { by: 'agent', accept: answer.accept, promptText: answer.promptText }, at);
}

/** The browser says that a native dialog of this page is gone. */
export function dialogClosed(state: BrowserState, pageId: string, frameId: string | undefined, at: number): Change {
  const natives = state.pendingDialogs.filter((dialog) => dialog.pageId === pageId && dialog.source.kind === 'native');
  // With two open at once the browser drops the older one.
  const closed = natives.find((dialog) => frameId !== undefined && dialog.frameId === frameId) ?? natives.at(0);
  if (closed === undefined) return unchanged(state);
  return unchanged(closeDialog(state, closed, closed.answering?.by ?? 'remote', at));
}

/** The browser replied to our answer. */
export function dialogAnswerReplied(state: BrowserState, dialogId: string, failed: boolean, at: number): Change {
  const dialog = state.pendingDialogs.find(({ id }) => id === dialogId);
  if (dialog === undefined) return unchanged(state);
  // "No dialog is showing": somebody else closed it just before us.
  return unchanged(closeDialog(state, dialog, failed ? 'remote' : (dialog.answering?.by ?? 'remote'), at));
}

/** The safety timeout of `must_respond`. */
export function dialogsExpired(state: BrowserState, at: number): Change {
  const due = state.pendingDialogs.filter((dialog) => (watchdogAt(state, dialog) ?? Number.POSITIVE_INFINITY) <= at);
  return answerAll(state, due, 'watchdog', at);
}

/** Dismisses whatever is open: a dialog whose client leaves would block its page for ever, and nobody could see it. */
export function dismissAll(state: BrowserState, by: ClosedBy, at: number, pageId?: string): Change {
  const open = state.pendingDialogs.filter(
    (dialog) => dialog.answering === undefined && (pageId === undefined || dialog.pageId === pageId),
  );
  return answerAll(state, open, by, at);
}

/** Ends dialogs whose document, session or connection is gone: there is nothing left to answer. */
export function dialogsLost(state: BrowserState, isLost: (dialog: Dialog) => boolean, at: number): BrowserState {
  return state.pendingDialogs
    .filter(isLost)
    .reduce((next, dialog) => closeDialog(next, dialog, dialog.answering?.by ?? 'remote', at), state);
}

/** When the watchdog ends this dialog; undefined when it is not waiting for the agent. */
export function watchdogAt(state: BrowserState, dialog: Dialog): number | undefined {
  return dialog.answering === undefined ? dialog.openedAt + state.settings.watchdogMs : undefined;
}

function answerAll(state: BrowserState, dialogs: readonly Dialog[], by: ClosedBy, at: number): Change {
  let change = unchanged(state);
  for (const dialog of dialogs) {
    const next = answerDialog(change.state, dialog, { by, accept: false, promptText: undefined }, at);
    change = { state: next.state, commands: [...change.commands, ...next.commands] };
  }
  return change;
}

function answerDialog(
  state: BrowserState,
  dialog: Dialog,
  answer: { by: ClosedBy; accept: boolean; promptText: string | undefined },
  at: number,
): Change {
  const { by, accept } = answer;
  // An accepted prompt without a text would hand "" to the page instead of its own default.
  const promptText = answer.promptText ?? dialog.defaultPrompt;
  if (dialog.source.kind === 'bridge') {
    const params = bridgeAnswer(dialog.source.requestId, accept, promptText);
    const commands: Command[] = [{ kind: 'send', sessionId: dialog.sessionId, method: 'Fetch.fulfillRequest', params }];
    return { state: closeDialog(state, dialog, by, at), commands };
  }
  if (dialog.unanswerable) {
    // Answering is refused by the browser and removing the frame crashes it: only an immediate reload recovers.
    const commands: Command[] = [{ kind: 'send', sessionId: dialog.sessionId, method: 'Page.reload', params: {} }];
    return { state: closeDialog(state, dialog, by, at), commands };
  }
  const marked = replaceDialog(state, { ...dialog, answering: { by, accept } });
  const params = { accept, ...(dialog.type === 'prompt' ? { promptText } : {}) };
  const tag = { kind: 'dialog_answer', dialogId: dialog.id } as const;
  return {
    state: marked,
    commands: [{ kind: 'send', sessionId: dialog.sessionId, method: 'Page.handleJavaScriptDialog', params, tag }],
  };
}

/** Adds a dialog. Two native ones in one page at once break Chromium: one of them can no longer be answered. */
function withOverlap(state: BrowserState, opened: Dialog): BrowserState {
  const { source } = opened;
  if (source.kind === 'bridge') return { ...state, pendingDialogs: [...state.pendingDialogs, opened] };
  const overlaps = (dialog: Dialog) => dialog.pageId === opened.pageId && dialog.source.kind === 'native';
  if (!state.pendingDialogs.some(overlaps)) return { ...state, pendingDialogs: [...state.pendingDialogs, opened] };
  // With a window the browser closes the older one and loses the newer; without, it forgets the older ones.
  const older = source.hasBrowserHandler
    ? state.pendingDialogs
    : state.pendingDialogs.map((dialog) => (overlaps(dialog) ? { ...dialog, unanswerable: true } : dialog));
  return { ...state, pendingDialogs: [...older, { ...opened, unanswerable: source.hasBrowserHandler }] };
}

function replaceDialog(state: BrowserState, dialog: Dialog): BrowserState {
  return { ...state, pendingDialogs: state.pendingDialogs.map((old) => (old.id === dialog.id ? dialog : old)) };
}

function closeDialog(state: BrowserState, dialog: Dialog, closedBy: ClosedBy, closedAt: number): BrowserState {
  return {
    ...state,
    pendingDialogs: state.pendingDialogs.filter(({ id }) => id !== dialog.id),
    recentDialogs: pushBounded(state.recentDialogs, { ...dialog, closedAt, closedBy }, RECENT_DIALOGS),
  };
}
