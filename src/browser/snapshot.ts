// State to the shapes that agents read, with the limits of the contract. Field names here are the public ones.

import { showInvisible } from '../core/untrusted.ts';
import type { BrowserState, ClosedDialog, ConsoleEntry, Dialog, Frame, Page } from './state.ts';

export const MAX_FRAME_ENTRIES = 30;
export const MAX_OOPIF_DEPTH = 2;

export interface WireDialog {
  id: string;
  type: string;
  message: string;
  opened_at: number;
}

export interface WireClosedDialog extends WireDialog {
  closed_at: number;
  closed_by: string;
  /** Only on hosted browsers: the bridge still holds the page, and browser_dialog can answer. */
  awaiting_answer?: true;
}

export interface WireFrameTree {
  top: { frame_id: string; url: string; origin: string };
  children: { frame_id: string; url: string; is_oopif: boolean; session_id?: string }[];
  truncated: boolean;
}

export interface SupervisorFields {
  pending_dialogs: WireDialog[];
  recent_dialogs: WireClosedDialog[];
  frame_tree?: WireFrameTree;
  console_errors: { text: string; url: string; at: number }[];
}

/** The fields that a supervisor adds to browser_snapshot. Dialogs of all tabs; the frames of the current one. */
export function supervisorFields(state: BrowserState): SupervisorFields {
  const page = state.pages.get(state.currentPageId ?? '');
  const fields: SupervisorFields = {
    pending_dialogs: pendingDialogs(state).map(dialogToWire),
    recent_dialogs: recentDialogs(state),
    console_errors: state.consoleErrors.map(consoleToWire),
  };
  if (page !== undefined) fields.frame_tree = frameTreeToWire(page);
  return fields;
}

/** Dialogs that wait for the agent. A bridged one on a hosted browser never counts as pending there. */
export function pendingDialogs(state: BrowserState): Dialog[] {
  return answerableDialogs(state).filter((dialog) => !isHostedBridge(state, dialog));
}

/** All that browser_dialog can answer. */
export function answerableDialogs(state: BrowserState): Dialog[] {
  return state.pendingDialogs.filter((dialog) => dialog.answering === undefined);
}

export function dialogToWire(dialog: Dialog): WireDialog {
  return {
    id: dialog.id,
    type: dialog.type,
    message: showInvisible(dialog.message),
    opened_at: dialog.openedAt / 1000,
  };
}

export function closedDialogToWire(state: BrowserState, dialog: ClosedDialog): WireClosedDialog {
  // To the contract a hosted dialog was closed by its backend, whoever answered the bridge.
  const closedBy = isHostedBridge(state, dialog) ? 'remote' : dialog.closedBy;
  return { ...dialogToWire(dialog), closed_at: dialog.closedAt / 1000, closed_by: closedBy };
}

export function consoleToWire(entry: ConsoleEntry): { text: string; url: string; at: number } {
  return { text: showInvisible(entry.text), url: showInvisible(entry.url), at: entry.at / 1000 };
}

function recentDialogs(state: BrowserState): WireClosedDialog[] {
  const closed = state.recentDialogs.map((dialog) => closedDialogToWire(state, dialog));
  const held = answerableDialogs(state)
    .filter((dialog) => isHostedBridge(state, dialog))
    .map((dialog): WireClosedDialog => {
      const wire = closedDialogToWire(state, { ...dialog, closedAt: dialog.openedAt, closedBy: 'remote' });
      return { ...wire, awaiting_answer: true };
    });
  return [...closed, ...held].slice(-20);
}

const isHostedBridge = (state: BrowserState, dialog: Dialog): boolean =>
  state.settings.backend === 'hosted' && dialog.source.kind === 'bridge';

function frameTreeToWire(page: Page): WireFrameTree {
  const root = page.frames.get(page.rootFrameId);
  const childrenOf = new Map<string, Frame[]>();
  for (const frame of page.frames.values()) {
    if (frame.id === page.rootFrameId) continue;
    const siblings = childrenOf.get(frame.parentId ?? page.rootFrameId);
    if (siblings === undefined) childrenOf.set(frame.parentId ?? page.rootFrameId, [frame]);
    else siblings.push(frame);
  }
  const children: WireFrameTree['children'] = [];
  let truncated = false;
  // Breadth first: what is near the top matters most when the list is cut.
  let level = (childrenOf.get(page.rootFrameId) ?? []).map((frame) => ({ frame, depth: 0 }));
  while (level.length > 0) {
    const next: typeof level = [];
    for (const { frame, depth: above } of level) {
      const depth = above + (frame.isOopif ? 1 : 0);
      if (depth > MAX_OOPIF_DEPTH || children.length >= MAX_FRAME_ENTRIES) {
        truncated = true;
        continue;
      }
      children.push({
        frame_id: frame.id,
        url: showInvisible(frame.url),
        is_oopif: frame.isOopif,
        ...(frame.isOopif ? { session_id: frame.sessionId } : {}),
      });
      for (const child of childrenOf.get(frame.id) ?? []) next.push({ frame: child, depth });
    }
    level = next;
  }
  const top = { frame_id: page.rootFrameId, url: showInvisible(root?.url ?? ''), origin: root?.origin ?? 'null' };
  return { top, children, truncated };
}
