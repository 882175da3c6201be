// Which browser a task gets, and at which address: one that runs already, a hosted one, one with REST only, or a
// Chromium that we start. Addresses may hold tokens and are never put into a message.

import { request } from 'node:http';
import { request as requestTls } from 'node:https';
import type { Config } from '../config/schema.ts';
import { messageOf, SvcError } from '../core/errors.ts';
import { type Json, parseJson, valueAt } from '../core/json.ts';
import type { Endpoint } from './supervisor.ts';

export type BrowserConfig = Config['browser'];

export type Backend =
  | { kind: 'running'; address: string }
  | { kind: 'hosted' }
  | { kind: 'rest'; url: string }
  | { kind: 'own'; executable: string }
  | { kind: 'none'; reason: string };

const ASK_MS = 5000;
const MAX_ANSWER_CHARS = 1_000_000;

/** What a person connected by hand comes first, then what the configuration names, then what the machine has. */
export function chooseBackend(
  config: BrowserConfig,
  connected: string | undefined,
  found: string | undefined,
): Backend {
  if (connected !== undefined) return { kind: 'running', address: connected };
  if (config.cdp_url !== undefined) return { kind: 'running', address: config.cdp_url };
  if (config.hosted?.cdp_url !== undefined || config.hosted?.session_url !== undefined) return { kind: 'hosted' };
  if (config.rest_url !== undefined) return { kind: 'rest', url: config.rest_url };
  const executable = config.executable ?? found;
  if (executable !== undefined) return { kind: 'own', executable };
  return { kind: 'none', reason: 'No Chromium was found on this machine, and no browser is configured.' };
}

/** A browser that somebody else started. */
export function runningEndpoint(address: string): Endpoint {
  const ask = () => browserAddress(address);
  const close = () => Promise.resolve();
  // The exact address of one launch is tried first, and asked for when it has become old.
  const isExact = /^ws:\/\/[^/]+\/devtools\/browser\/[^/]+$/.test(address.trim());
  return isExact ? { address: async () => address.trim(), otherAddress: ask, close } : { address: ask, close };
}

/** A hosted browser: its address is asked for before every connection, because such addresses expire. */
export function hostedEndpoint(hosted: NonNullable<BrowserConfig['hosted']>): Endpoint {
  return { address: () => hostedAddress(hosted), close: () => Promise.resolve() };
}

/**
 * The WebSocket address of a whole browser, from a port, an http address or a ws address. The path of a local one changes with
 * every launch, so it is always asked for; what cannot be asked is used as it is. Rejects with `browser_gone`.
 */
export async function browserAddress(text: string): Promise<string> {
  const url = readEndpoint(text);
  if (url.protocol === 'wss:') return url.href;
  const question = new URL(url);
  question.protocol = url.protocol === 'https:' ? 'https:' : 'http:';
  question.pathname = '/json/version';
  const isSocket = url.protocol === 'ws:';
  try {
    const { webSocketDebuggerUrl } = (await askJson(question, { method: 'GET' })) as { webSocketDebuggerUrl?: unknown };
    const found = typeof webSocketDebuggerUrl === 'string' ? URL.parse(webSocketDebuggerUrl) : null;
    if (found === null) throw new Error('its answer names no debugging address');
    // Behind a forwarded port the browser names an address that only it can reach.
    found.host = url.host;
    if (url.protocol === 'https:') found.protocol = 'wss:';
    return found.href;
  } catch (cause) {
    if (isSocket && url.pathname.length > 1) return url.href;
    const help = 'Start the browser with --remote-debugging-port=9222 and connect to that port.';
    throw new SvcError('browser_gone', `No browser answers there: ${reasonOf(cause)}`, { help, cause });
  }
}

function readEndpoint(text: string): URL {
  const trimmed = text.trim();
  const whole = /^\d+$/.test(trimmed)
    ? `http://127.0.0.1:${trimmed}`
    : trimmed.includes('://')
      ? trimmed
      : `http://${trimmed}`;
  const url = URL.parse(whole);
  if (url !== null && /^(wss?|https?):$/.test(url.protocol)) return url;
  throw new SvcError('invalid_input', 'This is not the address of a browser.', {
    help: 'Give a port (9222), http://host:9222, or a ws:// or wss:// address.',
  });
}

async function hostedAddress(hosted: NonNullable<BrowserConfig['hosted']>): Promise<string> {
  if (hosted.session_url === undefined) return hosted.cdp_url ?? '';
  const body = hosted.session_body === undefined ? {} : { body: JSON.stringify(hosted.session_body) };
  const headers = {
    ...(hosted.session_body === undefined ? {} : { 'content-type': 'application/json' }),
    ...hosted.session_headers,
  };
  const help = 'Check browser.hosted in the configuration.';
  try {
    const answer = await askJson(new URL(hosted.session_url), { method: hosted.session_method, headers, ...body });
    const address = valueAt(answer, hosted.cdp_url_field.split('.'));
    if (typeof address === 'string' && /^wss?:\/\//.test(address)) return address;
    throw new Error(`its answer has no ws address at ${hosted.cdp_url_field}`);
  } catch (cause) {
    throw new SvcError('browser_gone', `The hosted browser gave no address: ${reasonOf(cause)}`, { help, cause });
  }
}

interface Question {
  method: string;
  headers?: Record<string, string>;
  body?: string;
}

/** Small and local as a rule: the plain client of Node starts faster than fetch. Follows no redirect. */
async function askJson(url: URL, { method, headers = {}, body }: Question): Promise<Json> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const send = url.protocol === 'https:' ? requestTls : request;
  const call = send(url, { method, headers, signal: AbortSignal.timeout(ASK_MS) }, (response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('error', reject);
    response.on('data', (chunk: string) => {
      text += chunk;
      if (text.length > MAX_ANSWER_CHARS) response.destroy(new Error('its answer is too long'));
    });
    response.on('end', () => {
      const { statusCode = 0 } = response;
      if (statusCode >= 200 && statusCode < 300) resolve(text);
      else reject(new Error(`it answered with status ${statusCode}`));
    });
  });
  call.on('error', reject);
  call.end(body);
  const parsed = parseJson(await promise);
  if (parsed.kind === 'invalid') throw new Error('its answer is not JSON');
  return parsed.value;
}

function reasonOf(error: unknown): string {
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = inner instanceof Error && 'code' in inner ? String(inner.code) : '';
  return code === '' ? messageOf(inner) : code;
}
