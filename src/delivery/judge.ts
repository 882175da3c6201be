// What an HTTP answer means for a message, by the rules that all platforms share. Each target adds where its platform
// puts the receipt, its own words and its own wait.

import type { HttpAnswer, HttpReply } from '../system/fetch-json.ts';
import type { SendOutcome } from './outcome.ts';

export interface Reading {
  /** The platform's name of the message when the answer says that it took it, else undefined. `''` when it has no name. */
  receipt(json: unknown, answer: HttpAnswer): string | undefined;
  /** What an answer that is no success says. */
  error?(json: unknown, answer: HttpAnswer): PlatformError;
  /** True when a success has no JSON body. */
  anyBody?: true;
}

export interface PlatformError {
  words?: string | undefined;
  /** The platform's own wish; wins over the `Retry-After` header. */
  afterMs?: number | undefined;
  /** Worth another try although the status does not say so. */
  retry?: boolean;
  /** It could not read our markup. */
  markup?: boolean;
}

const MAX_WORDS = 300;
const LONGEST_WAIT_MS = 24 * 60 * 60 * 1000;

export function judge(reply: HttpReply, reading: Reading, now: number): SendOutcome {
  if (reply.kind === 'forbidden') return { kind: 'refused', reason: reply.reason };
  if (reply.kind === 'not_sent') return { kind: 'failed', reason: reply.reason };
  if (reply.kind === 'no_answer') return { kind: 'unknown', reason: reply.reason };
  const { status, json } = reply;
  const good = status >= 200 && status < 300;
  if (good && (json !== undefined || reading.anyBody)) {
    const receipt = reading.receipt(json, reply);
    if (receipt !== undefined) return { kind: 'sent', ...(receipt === '' ? {} : { receipt }) };
  }
  if (status >= 300 && status < 400) {
    return {
      kind: 'refused',
      reason: `answered with a redirect (${status}) to ${redirectHost(reply)}; redirects are not followed`,
    };
  }
  const error = reading.error?.(json, reply) ?? {};
  const words = cleaned(error.words);
  if (good && json === undefined && !reading.anyBody) {
    return { kind: 'failed', reason: 'answered with something that is not JSON; is base_url right?' };
  }
  // "Answered 200" alone would read like a success.
  const said = good ? `answered ${status}, but not that it took the message` : `answered ${status}`;
  const reason = [said, words].filter(Boolean).join(': ');
  if (error.retry || isTemporary(status)) {
    const afterMs = error.afterMs ?? retryAfterMs(reply.header('retry-after'), now);
    return {
      kind: 'failed',
      reason,
      ...(afterMs === undefined ? {} : { afterMs: Math.min(afterMs, LONGEST_WAIT_MS) }),
    };
  }
  if (error.markup) return { kind: 'markup_refused', reason };
  if (status === 401 || status === 403) return { kind: 'refused', reason: `${reason} (is the token still valid?)` };
  return { kind: 'refused', reason };
}

/** 408, 425 and 429 are the client errors that pass by themselves. */
const isTemporary = (status: number): boolean => status >= 500 || status === 408 || status === 425 || status === 429;

/** Seconds or a date, as RFC 9110 has it. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(header.trim())) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** A string or number somewhere in a platform's answer, as text. */
export function textAt(json: unknown, path: string): string | undefined {
  let value: unknown = json;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** A wait in seconds somewhere in a platform's answer, in milliseconds. */
export function secondsAt(json: unknown, path: string): number | undefined {
  const seconds = Number(textAt(json, path) ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.ceil(seconds * 1000) : undefined;
}

const cleaned = (words: string | undefined): string | undefined =>
  words === undefined ? undefined : words.replace(/\s+/g, ' ').trim().slice(0, MAX_WORDS);

function redirectHost(answer: HttpAnswer): string {
  const location = answer.header('location') ?? '';
  return URL.parse(location)?.host ?? 'another path';
}
