// What pages write to their console: the last errors, and the last lines of any level.

import type { Protocol } from 'devtools-protocol';
import { cutText } from '../core/json.ts';
import { pushBounded } from '../core/ring.ts';
import type { BrowserState, ConsoleEntry, ConsoleLevel } from './state.ts';

export const CONSOLE_ERRORS = 50;
export const CONSOLE_MESSAGES = 100;
const MAX_TEXT_CHARS = 2000;
const MAX_ARGUMENTS = 8;

export function consoleCalled(
  state: BrowserState,
  pageId: string,
  event: Protocol.Runtime.ConsoleAPICalledEvent,
  at: number,
): BrowserState {
  const text = event.args.slice(0, MAX_ARGUMENTS).map(textOf).join(' ');
  return withEntry(state, {
    level: levelOf(event.type),
    text,
    url: event.stackTrace?.callFrames[0]?.url ?? '',
    at,
    pageId,
  });
}

export function exceptionThrown(
  state: BrowserState,
  pageId: string,
  event: Protocol.Runtime.ExceptionThrownEvent,
  at: number,
): BrowserState {
  const { exception, text, url } = event.exceptionDetails;
  // `text` alone is only the word "Uncaught".
  const detail = exception === undefined ? text : `${text} ${textOf(exception)}`;
  return withEntry(state, { level: 'error', text: detail, url: url ?? '', at, pageId });
}

/** Failed requests and blocked content are told only here; script errors come by the other two ways already. */
export function logged(state: BrowserState, pageId: string, entry: Protocol.Log.LogEntry, at: number): BrowserState {
  if (entry.level !== 'error' || entry.source === 'worker' || entry.source === 'javascript') return state;
  return withEntry(state, { level: 'error', text: entry.text, url: entry.url ?? '', at, pageId });
}

function withEntry(state: BrowserState, entry: ConsoleEntry): BrowserState {
  const cut = { ...entry, text: cutText(entry.text, MAX_TEXT_CHARS).text };
  const consoleMessages = pushBounded(state.consoleMessages, cut, CONSOLE_MESSAGES);
  if (cut.level !== 'error') return { ...state, consoleMessages };
  return { ...state, consoleMessages, consoleErrors: pushBounded(state.consoleErrors, cut, CONSOLE_ERRORS) };
}

function levelOf(type: string): ConsoleLevel {
  if (type === 'error' || type === 'assert') return 'error';
  return type === 'warning' ? 'warning' : 'info';
}

function textOf(value: unknown): string {
  const { value: primitive, description, type } = Object(value) as Partial<Protocol.Runtime.RemoteObject>;
  if (typeof primitive === 'string') return primitive;
  if (typeof description === 'string') return description;
  return primitive === undefined ? String(type ?? 'undefined') : JSON.stringify(primitive);
}
