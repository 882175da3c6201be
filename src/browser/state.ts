// Everything a supervisor knows, as one value that is never changed, only replaced: whoever holds it may read on.
// Times are epoch milliseconds.

import type { DIALOG_BRIDGES, DIALOG_POLICIES } from '../config/schema.ts';

export const CLOSED_BY = ['agent', 'auto_policy', 'watchdog', 'remote'] as const;
export type ClosedBy = (typeof CLOSED_BY)[number];
export type DialogType = 'alert' | 'confirm' | 'prompt' | 'beforeunload';

export interface SupervisorSettings {
  /** A hosted browser closes native dialogs itself: there the bridge is the only way to answer. */
  backend: 'local' | 'hosted';
  policy: (typeof DIALOG_POLICIES)[number];
  watchdogMs: number;
  bridge: (typeof DIALOG_BRIDGES)[number];
  bypassCsp: boolean;
  /** Refuse requests to addresses that are not on the public internet. */
  guardPrivate: boolean;
}

export interface Dialog {
  id: string;
  type: DialogType;
  message: string;
  defaultPrompt: string;
  openedAt: number;
  pageId: string;
  frameId: string | undefined;
  /** Where the answer is sent: the page's session for native dialogs, the frame's own for bridged ones. */
  sessionId: string;
  /** A bridged dialog is a request that we hold. */
  source: { kind: 'native'; hasBrowserHandler: boolean } | { kind: 'bridge'; requestId: string };
  /** Decided before the answer is sent: Chromium reports the close before it replies to us. */
  answering?: { by: ClosedBy; accept: boolean };
  /** Lost by the browser because two native dialogs were open at once. Only a reload frees the page. */
  unanswerable: boolean;
}

export interface ClosedDialog extends Dialog {
  closedAt: number;
  closedBy: ClosedBy;
}

export interface Frame {
  id: string;
  parentId: string | undefined;
  url: string;
  origin: string;
  /** Names the document: a new one is a new page in this frame. Empty until the browser told it. */
  loaderId: string;
  /** The session that owns the frame: its own when it is a cross-origin frame, else the nearest one above. */
  sessionId: string;
  isOopif: boolean;
}

export interface Page {
  id: string;
  sessionId: string;
  openerId: string | undefined;
  rootFrameId: string;
  frames: ReadonlyMap<string, Frame>;
  loading: 'document' | 'resources' | 'done';
  crashed: boolean;
  /** The agent is on its way to another page: what this one still asks is dismissed. */
  leaving: boolean;
  /**
   * `asked` until the page answered its first question. A page that does not answer holds a dialog that opened before
   * we came, or is busy: which one cannot be told from outside.
   */
  answers: { kind: 'asked'; until: number } | { kind: 'yes' } | { kind: 'no' };
}

export interface Session {
  id: string;
  parentId: string | undefined;
  kind: 'page' | 'iframe' | 'worker';
  targetId: string;
  pageId: string;
}

export type ConsoleLevel = 'error' | 'warning' | 'info';

export interface ConsoleEntry {
  level: ConsoleLevel;
  text: string;
  url: string;
  at: number;
  pageId: string;
}

export type Link =
  | { kind: 'connecting'; attempt: number }
  | {
      kind: 'connected';
      ready: boolean;
      attempt: number;
      since: number;
      nextBeatAt: number;
      beatDueAt: number | undefined;
    }
  | { kind: 'waiting'; attempt: number; retryAt: number; reason: string }
  | { kind: 'gone'; reason: string }
  | { kind: 'stopped' };

export interface BrowserState {
  settings: SupervisorSettings;
  link: Link;
  pages: ReadonlyMap<string, Page>;
  sessions: ReadonlyMap<string, Session>;
  /** The tab that the task's tools act on. */
  currentPageId: string | undefined;
  dialogCount: number;
  pendingDialogs: readonly Dialog[];
  recentDialogs: readonly ClosedDialog[];
  consoleErrors: readonly ConsoleEntry[];
  consoleMessages: readonly ConsoleEntry[];
}

/** What a rule answers with: the next state, and what the shell has to do for it. */
export interface Change {
  state: BrowserState;
  commands: readonly Command[];
}

/** Which question a reply belongs to. */
export type ReplyTag =
  | { kind: 'ready' }
  | { kind: 'frame_tree'; sessionId: string }
  | { kind: 'dialog_answer'; dialogId: string }
  | { kind: 'heartbeat' };

export type Command =
  /** Without a tag nobody waits for the reply. */
  | { kind: 'send'; sessionId?: string; method: string; params: Record<string, unknown>; tag?: ReplyTag }
  /** Calls on these sessions will never be answered. */
  | { kind: 'reject_sessions'; sessionIds: readonly string[]; reason: string }
  | { kind: 'look_up'; sessionId: string; requestId: string; host: string }
  | { kind: 'connect' }
  | { kind: 'disconnect' }
  /** Replaces the one wake-up before it; undefined means none is needed. */
  | { kind: 'wake'; at: number | undefined };

export function initialState(settings: SupervisorSettings): BrowserState {
  return {
    settings,
    link: { kind: 'connecting', attempt: 0 },
    pages: new Map(),
    sessions: new Map(),
    currentPageId: undefined,
    dialogCount: 0,
    pendingDialogs: [],
    recentDialogs: [],
    consoleErrors: [],
    consoleMessages: [],
  };
}

export const unchanged = (state: BrowserState): Change => ({ state, commands: [] });

export function withEntry<K, V>(map: ReadonlyMap<K, V>, key: K, value: V): ReadonlyMap<K, V> {
  return new Map(map).set(key, value);
}

export function withPage(state: BrowserState, page: Page): BrowserState {
  return { ...state, pages: withEntry(state.pages, page.id, page) };
}

/** The page that a session belongs to. */
export function pageOf(state: BrowserState, sessionId: string | undefined): Page | undefined {
  const session = sessionId === undefined ? undefined : state.sessions.get(sessionId);
  return session && state.pages.get(session.pageId);
}
