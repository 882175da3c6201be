// One HTTP call with a deadline and a capped answer. Follows no redirect and never throws: whether the request can have
// arrived is what the caller must know, so that is part of the value. Reasons name the host, never path, query or headers.

import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, request } from 'undici';
import { messageOf } from '../core/errors.ts';
import { isPublicAddress } from '../core/ip-address.ts';

export interface HttpCall {
  method: 'GET' | 'POST' | 'PUT';
  url: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as a form. */
  form?: Record<string, string>;
  /** Sent as it is. */
  body?: string;
  timeoutMs: number;
  signal?: AbortSignal;
  /** Refuse every address that is not on the public internet; the name is resolved once and the socket goes there. */
  publicOnly?: boolean;
}

export interface HttpAnswer {
  kind: 'answer';
  status: number;
  /** Undefined when the answer is not JSON. */
  json: unknown;
  /** At most 1 MiB of it. */
  text: string;
  header(name: string): string | undefined;
}

export type HttpReply =
  | HttpAnswer
  /** The address is no URL, or one that must not be reached: trying again changes nothing. */
  | { kind: 'forbidden'; reason: string }
  /** Nothing can have arrived: no such name, no connection, a bad certificate. */
  | { kind: 'not_sent'; reason: string }
  /** The request was on its way and no whole answer came back: it may have arrived. */
  | { kind: 'no_answer'; reason: string };

export interface HttpCaller {
  call(call: HttpCall): Promise<HttpReply>;
  /** Lets go of idle connections. Calling it twice is fine. */
  close(): Promise<void>;
}

const MAX_ANSWER_BYTES = 1024 * 1024;
const CONNECT_TIMEOUT_MS = 5000;
const NOT_SENT_CODES =
  /^(ENOTFOUND|EAI_|ECONNREFUSED|EHOST|ENET|EADDR|EPRIVATE|UND_ERR_CONNECT|ERR_TLS|ERR_SSL|CERT_|EPROTO)/;
const CERTIFICATE_CODES = /CERT|SIGNED|UNABLE_TO_(GET|VERIFY)|ERR_TLS/;

/** `lookup` and `connectTimeoutMs` are given by tests; the system's resolver is used otherwise. */
export function createHttpCaller(options: { lookup?: LookupFunction; connectTimeoutMs?: number } = {}): HttpCaller {
  const lookup = options.lookup ?? systemLookup;
  const timeout = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  const open = new Agent({ connect: { timeout, lookup } });
  const guarded = new Agent({ connect: { timeout, lookup: publicLookup(lookup) } });
  return {
    call: (call) => send(call, call.publicOnly ? guarded : open),
    close: async () => {
      await Promise.all([open.destroy(), guarded.destroy()]);
    },
  };
}

async function send(call: HttpCall, dispatcher: Agent): Promise<HttpReply> {
  const url = URL.parse(call.url);
  if (!url || !/^https?:$/.test(url.protocol))
    return { kind: 'forbidden', reason: 'the address is not an http(s) URL' };
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // An address written as a number never reaches the resolver.
  if (call.publicOnly && isIP(host) !== 0 && !isPublicAddress(host))
    return { kind: 'forbidden', reason: privateReason(host) };
  // Not AbortSignal.timeout and any: those keep every finished call in memory until its deadline.
  const ending = new AbortController();
  const onAbort = (): void => ending.abort('stopped');
  const timer = setTimeout(() => ending.abort('deadline'), call.timeoutMs);
  if (call.signal?.aborted) onAbort();
  else call.signal?.addEventListener('abort', onAbort);
  try {
    const reply = await request(url, {
      method: call.method,
      headers: { ...typeOf(call), ...call.headers },
      body: bodyOf(call),
      dispatcher,
      signal: ending.signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const text = await readCapped(reply.body);
    return {
      kind: 'answer',
      status: reply.statusCode,
      text,
      json: parsed(text),
      header: (name) => [reply.headers[name.toLowerCase()]].flat()[0],
    };
  } catch (error) {
    if (!ending.signal.aborted) return failure(host, error);
    if (ending.signal.reason === 'stopped') return { kind: 'no_answer', reason: `stopped while waiting for ${host}` };
    return { kind: 'no_answer', reason: `no answer from ${host} within ${call.timeoutMs / 1000} s` };
  } finally {
    clearTimeout(timer);
    call.signal?.removeEventListener('abort', onAbort);
  }
}

function failure(host: string, error: unknown): HttpReply {
  const code = codeOf(error);
  if (code === 'EPRIVATE') return { kind: 'forbidden', reason: privateReason(host) };
  if (CERTIFICATE_CODES.test(code))
    return { kind: 'not_sent', reason: `the certificate of ${host} is not valid (${code})` };
  if (NOT_SENT_CODES.test(code)) return { kind: 'not_sent', reason: `cannot reach ${host} (${code})` };
  return { kind: 'no_answer', reason: `the connection to ${host} broke (${code || messageOf(error)})` };
}

const privateReason = (host: string): string =>
  `${host} is not on the public internet; set delivery.allow_private to reach such addresses`;

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  // With several addresses per name the attempts come as one aggregate; the first says why.
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error.cause === undefined ? '' : codeOf(error.cause);
}

function publicLookup(lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, '', 0);
      const addresses: LookupAddress[] = typeof found === 'string' ? [{ address: found, family: isIP(found) }] : found;
      const [first] = addresses;
      // One private address among public ones is how a rebinding name looks.
      if (!first || !addresses.every(({ address }) => isPublicAddress(address))) {
        return callback(Object.assign(new Error('private address'), { code: 'EPRIVATE' }), '', 0);
      }
      if (options.all) return callback(null, addresses);
      callback(null, first.address, first.family);
    });
  };
}

const typeOf = (call: HttpCall): Record<string, string> =>
  call.json !== undefined
    ? { 'content-type': 'application/json; charset=utf-8' }
    : call.form
      ? { 'content-type': 'application/x-www-form-urlencoded' }
      : {};

function bodyOf(call: HttpCall): string | null {
  if (call.json !== undefined) return JSON.stringify(call.json);
  if (call.form) return new URLSearchParams(call.form).toString();
  return call.body ?? null;
}

async function readCapped(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop destroys the stream, so an endless answer costs no more than the cap.
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= MAX_ANSWER_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8', 0, Math.min(size, MAX_ANSWER_BYTES));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
