// web_fetch: one page of the public internet as readable text. Every hop of a redirect is checked like the first address;
// the caller resolves each name once and connects to that address only.

import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { defineTool, type Tool, type ToolResult } from '../agent/tool.ts';
import { fenceUntrusted } from '../core/untrusted.ts';
import type { HttpAnswer, HttpCaller } from '../system/fetch-json.ts';
import { htmlToText } from './html-text.ts';

const MAX_REDIRECTS = 5;
const TIMEOUT_MS = 30_000;
const MAX_TEXT_LENGTH = 50_000;
const HEADERS = {
  accept: 'text/html,application/xhtml+xml,application/json,text/*;q=0.9',
  'user-agent': 'svc (web_fetch)',
};

export const createWebFetch = (http: Pick<HttpCaller, 'call'>): Tool =>
  defineTool({
    name: 'web_fetch',
    description:
      'Fetches a page of the public web (GET) and returns its text; HTML becomes plain readable text. ' +
      'Addresses of private networks are refused. Long pages are cut: go on with offset.',
    input: z.object({
      url: z.string().min(1).max(4000).describe('http:// or https:// address.'),
      offset: z.int().min(0).default(0).describe('Skip this many characters of the text.'),
    }),
    toolsets: ['web', 'core'],
    parallel: true,
    async run({ url, offset }, context) {
      const fetched = await follow(http, url, context.signal);
      if (fetched.kind === 'failed') return { output: fetched.reason, failed: true };
      return present(fetched.url, fetched.answer, offset);
    },
  });

type Fetched = { kind: 'page'; url: URL; answer: HttpAnswer } | { kind: 'failed'; reason: string };

async function follow(http: Pick<HttpCaller, 'call'>, address: string, signal: AbortSignal): Promise<Fetched> {
  let url = URL.parse(address);
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    if (!url || !/^https?:$/.test(url.protocol)) return failed('Only http:// and https:// addresses can be fetched.');
    if (url.username !== '' || url.password !== '')
      return failed('Addresses with a user name or password are refused.');
    url.hash = '';
    const call = {
      method: 'GET',
      url: url.href,
      headers: HEADERS,
      timeoutMs: TIMEOUT_MS,
      signal,
      publicOnly: true,
    } as const;
    const reply = await http.call(call);
    // The reason ends with advice for operators of another part.
    if (reply.kind !== 'answer') return failed(`Not fetched: ${reply.reason.split(';')[0]}.`);
    const location = reply.header('location');
    if (reply.status < 300 || reply.status > 399 || location === undefined) return { kind: 'page', url, answer: reply };
    url = URL.parse(location, url.href);
  }
  return failed(`Not fetched: more than ${MAX_REDIRECTS} redirects.`);
}

function present(url: URL, answer: HttpAnswer, offset: number): ToolResult {
  const type = (answer.header('content-type') ?? 'text/plain').toLowerCase();
  if (!/^(text\/|application\/([\w.+-]*\+)?(json|xml|javascript|yaml|x-yaml|toml)|application\/xhtml)/.test(type)) {
    return { output: `${url.host} answered with ${type.split(';')[0]}, which is not text.`, failed: true };
  }
  const whole = /html/.test(type) ? htmlToText(answer.text, url) : answer.text;
  const text = whole.slice(offset, offset + MAX_TEXT_LENGTH).toWellFormed();
  const rest = whole.length - offset - text.length;
  const more = rest > 0 ? `\n[${rest} more characters; go on with offset ${offset + text.length}]` : '';
  const status = answer.status === 200 ? '' : ` (status ${answer.status})`;
  const fenced = fenceUntrusted(text === '' ? '(no text)' : text, randomUUID(), `a page of ${url.host}`);
  return { output: `${url.href}${status}\n${fenced}${more}`, ...(answer.status >= 400 ? { failed: true } : {}) };
}

const failed = (reason: string): Fetched => ({ kind: 'failed', reason });
