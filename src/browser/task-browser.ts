// The browser of one task: its supervisor, what it has read, and the calls that a dialog interrupted. A call never waits
// behind a dialog: it returns at once, goes on in the background, and its result comes with the answer to the dialog.

import { messageOf, SvcError } from '../core/errors.ts';
import { isWebAddress } from './guard.ts';
import type { Reach } from './navigation.ts';
import { blockingDialog, PageReader } from './page-reader.ts';
import {
  answerableDialogs,
  closedDialogToWire,
  dialogToWire,
  type WireClosedDialog,
  type WireDialog,
} from './snapshot.ts';
import type { BrowserState, Dialog, Page } from './state.ts';
import type { Supervisor } from './supervisor.ts';

/** What a tool answers with. */
export type BrowserResult = { success: true; [field: string]: unknown } | FailedResult;

export interface FailedResult {
  success: false;
  error: { code: string; message: string; help: string };
  [field: string]: unknown;
}

interface InterruptedCall {
  tool: string;
  page: Page;
  /** The dialogs it waits for; one of them may belong to a popup that the call opened. */
  dialogIds: readonly string[];
  finished: Promise<BrowserResult>;
}

/** How long an answered dialog waits for the call it had interrupted. */
const FINISH_MS = 10_000;
const CLOSE_MS = 10_000;
const ACT_MS = 60_000;

export class TaskBrowser {
  readonly kind = 'cdp';
  readonly supervisor: Supervisor;
  readonly reader: PageReader;
  readonly reach: Reach;
  #interrupted: readonly InterruptedCall[] = [];

  constructor(supervisor: Supervisor, reach: Reach) {
    this.supervisor = supervisor;
    this.reader = new PageReader(supervisor);
    this.reach = reach;
  }

  get state(): BrowserState {
    return this.supervisor.state;
  }

  /**
   * The tab that the task works in. Rejects with `browser_gone`, with `not_found` when no tab is open, or with
   * `invalid_input` when it shows something that is not the web.
   */
  async page(signal?: AbortSignal): Promise<Page> {
    await this.supervisor.ready(signal);
    const page = this.state.pages.get(this.state.currentPageId ?? '');
    if (page !== undefined) {
      const settled = await this.settled(page);
      this.requireWeb(page.id);
      return settled;
    }
    throw new SvcError('not_found', 'No tab is open.', { help: 'Open one with browser_navigate.' });
  }

  /**
   * The page once it took our set-up, or was found not to answer. Before that we would not learn which document it
   * holds, nor where it goes.
   */
  async settled(page: Page): Promise<Page> {
    const isAsked = (state: BrowserState) => state.pages.get(page.id)?.answers.kind === 'asked';
    await this.supervisor.until((state) => !isAsked(state), CLOSE_MS);
    return this.state.pages.get(page.id) ?? page;
  }

  /** Throws `invalid_input` for a tab that shows no page of the web, however it got there: it is not for a task. */
  requireWeb(pageId: string): void {
    const page = this.state.pages.get(pageId);
    judgeTab(page?.frames.get(page.rootFrameId)?.url ?? '');
  }

  /**
   * The same at the end of a call. A tab that was still empty when the call began may have arrived since, and its answer
   * can come before the event that names its address: the browser is asked.
   */
  async #requireStillWeb(pageId: string): Promise<void> {
    this.requireWeb(pageId);
    const page = this.state.pages.get(pageId);
    if (!/^(:?|about:blank)$/.test(page?.frames.get(page.rootFrameId)?.url ?? '')) return;
    // A tab that is gone meanwhile has nothing more to say.
    const found = await this.supervisor.call('Target.getTargetInfo', { targetId: pageId }).catch(() => undefined);
    judgeTab(found?.targetInfo.url ?? '');
  }

  /** Runs one tool call on a page. Never rejects, and never outlasts its deadline or a dialog that the page opens. */
  async act(
    tool: string,
    page: Page,
    work: () => Promise<Record<string, unknown>>,
    deadlineMs = ACT_MS,
  ): Promise<BrowserResult> {
    const seen = this.state.dialogCount;
    const opened = (state: BrowserState) => openedSince(state, seen, page);
    const finished = work()
      .then(async (fields) => {
        await this.#requireStillWeb(page.id);
        return fields;
      })
      .then(succeed, fail);
    const outcome = await this.#race(finished, (state) => opened(state).length > 0, deadlineMs);
    if (outcome.kind === 'finished') return outcome.result;
    if (outcome.kind === 'late') {
      const help = 'The page is busy or blocked. Take a browser_snapshot, or open it again with browser_navigate.';
      return failure('timeout', `${tool} did not end within ${deadlineMs / 1000} s.`, help);
    }
    const dialogs = opened(this.state);
    // Closed again in the same breath, by another client: the call simply goes on.
    if (dialogs.length === 0) return finished;
    const dialogIds = dialogs.map(({ id }) => id);
    // A page works off one call at a time; an older one that never came back is given up.
    const others = this.#interrupted.filter((call) => call.page.id !== page.id);
    this.#interrupted = [...others, { tool, page, dialogIds, finished }];
    return {
      success: true,
      interrupted: 'dialog',
      help: `A dialog opened and ${tool} was not finished. Answer it with browser_dialog; its result brings the rest.`,
      pending_dialogs: dialogs.map(dialogToWire),
    };
  }

  /** A refusal when a dialog keeps this session from answering; undefined when the way is free. */
  blocked(page: Page, sessionId: string): FailedResult | undefined {
    const dialog = blockingDialog(this.state, page.id, sessionId);
    return dialog && dialogOpen(dialog);
  }

  /** Input goes to the window, and a native dialog takes it all, whichever frame it belongs to. */
  inputBlocked(page: Page, sessionId: string): FailedResult | undefined {
    const native = answerableDialogs(this.state).find(
      ({ pageId, source }) => pageId === page.id && source.kind === 'native',
    );
    return native ? dialogOpen(native) : this.blocked(page, sessionId);
  }

  /** The same for the frame that a ref stands in. */
  refBlocked(page: Page, ref: string): FailedResult | undefined {
    return this.inputBlocked(page, this.reader.sessionOf(ref) ?? page.sessionId);
  }

  async answerDialog(action: string, promptText?: string, dialogId?: string): Promise<BrowserResult> {
    if (action !== 'accept' && action !== 'dismiss') {
      return failure('invalid_action', `There is no action ${JSON.stringify(action)}.`, 'Use accept or dismiss.');
    }
    const chosen = chooseDialog(this.state, dialogId);
    if ('success' in chosen) return chosen;
    // Counted before the answer: the next dialog may open faster than the close of this one is told.
    const seen = this.state.dialogCount;
    const answer = { dialogId: chosen.id, accept: action === 'accept', promptText };
    this.supervisor.decide({ kind: 'answer', answer, at: this.supervisor.now() });
    const isClosed = (state: BrowserState) => !state.pendingDialogs.some(({ id }) => id === chosen.id);
    if (!(await this.supervisor.until(isClosed, CLOSE_MS))) {
      const help = 'Reload the page with browser_navigate.';
      return failure('timeout', `The browser did not close dialog ${chosen.id}.`, help);
    }
    const closed = this.state.recentDialogs.find(({ id }) => id === chosen.id);
    if (closed?.closedBy === 'remote') {
      const help = 'Take a browser_snapshot to see where the page is now.';
      return failure('no_dialog', `Dialog ${chosen.id} was closed by the browser or somebody else first.`, help);
    }
    const dialog: WireClosedDialog | WireDialog = closed
      ? closedDialogToWire(this.state, closed)
      : dialogToWire(chosen);
    const note = chosen.unanswerable
      ? { note: 'Two dialogs were open at once and the browser lost this one: the page was reloaded instead.' }
      : {};
    return { success: true, action, dialog, ...note, ...(await this.#finishInterrupted(chosen.id, seen)) };
  }

  /** The call, or what comes before its end. */
  async #race(finished: Promise<BrowserResult>, interrupts: (state: BrowserState) => boolean, deadlineMs: number) {
    const watch = this.supervisor.watch(interrupts, deadlineMs);
    const outcome = await Promise.race([
      finished.then((result) => ({ kind: 'finished', result }) as const),
      watch.fits.then((hit) => ({ kind: hit ? 'interrupted' : 'late' }) as const),
    ]);
    watch.stop();
    return outcome;
  }

  /** The result of the call that the dialog had interrupted, or the next dialog when that comes first. */
  async #finishInterrupted(dialogId: string, seen: number): Promise<Record<string, unknown>> {
    const call = this.#interrupted.find(({ dialogIds }) => dialogIds.includes(dialogId));
    if (call === undefined) return {};
    const { tool, page } = call;
    const others = this.#interrupted.filter((one) => one !== call);
    const next = (state: BrowserState) => openedSince(state, seen, page);
    const outcome = await this.#race(call.finished, (state) => next(state).length > 0, FINISH_MS);
    if (outcome.kind === 'finished') {
      this.#interrupted = others;
      return { interrupted_call: { tool, finished: true, result: outcome.result } };
    }
    const dialogs = next(this.state);
    this.#interrupted = [...others, { ...call, dialogIds: [...call.dialogIds, ...dialogs.map(({ id }) => id)] }];
    return {
      interrupted_call: { tool, finished: false },
      ...(dialogs.length > 0 ? { pending_dialogs: dialogs.map(dialogToWire) } : {}),
    };
  }
}

export function succeed(fields: Record<string, unknown>): BrowserResult {
  return { success: true, ...fields };
}

/** Any thrown value as the answer of a tool. */
export function fail(error: unknown): FailedResult {
  const fallback = 'Take a browser_snapshot to see the state of the page.';
  if (error instanceof SvcError) return failure(error.code, error.message, error.help ?? fallback);
  return failure('cdp_error', messageOf(error), fallback);
}

export function failure(code: string, message: string, help: string): FailedResult {
  return { success: false, error: { code, message, help } };
}

function dialogOpen(dialog: Dialog): FailedResult {
  const message = `The page is blocked by the ${dialog.type} dialog ${dialog.id}.`;
  return {
    ...failure('dialog_open', message, 'Answer it with browser_dialog first.'),
    pending_dialogs: [dialogToWire(dialog)],
  };
}

/** Dialogs of this page, or of one that shares its process because one opened the other. */
function openedSince(state: BrowserState, seen: number, page: Page): Dialog[] {
  return answerableDialogs(state).filter((dialog) => {
    if (Number(dialog.id.slice(2)) <= seen) return false;
    const other = state.pages.get(dialog.pageId);
    return dialog.pageId === page.id || other?.openerId === page.id || page.openerId === dialog.pageId;
  });
}

function chooseDialog(state: BrowserState, dialogId: string | undefined): Dialog | FailedResult {
  const open = answerableDialogs(state);
  const ids = open.map(({ id }) => id).join(', ');
  if (dialogId !== undefined) {
    const named = open.find(({ id }) => id === dialogId);
    const help = open.length === 0 ? 'No dialog is open.' : `Open now: ${ids}.`;
    return named ?? failure('dialog_not_found', `No open dialog has the id ${dialogId}.`, help);
  }
  const [first, second] = open;
  if (first === undefined) {
    return failure('no_dialog', 'No dialog is open.', 'Look for pending_dialogs in a browser_snapshot first.');
  }
  if (second === undefined) return first;
  return {
    ...failure('dialog_ambiguous', `Several dialogs are open: ${ids}.`, 'Name one of them with dialog_id.'),
    pending_dialogs: open.map(dialogToWire),
  };
}

function judgeTab(url: string): void {
  if (isWebAddress(url) || /^(:?$|chrome-error:)/.test(url)) return;
  throw new SvcError('invalid_input', 'This tab shows a file or a page of the browser itself; it is not read.', {
    help: 'Go elsewhere with browser_navigate, or close the tab with browser_tabs.',
  });
}
