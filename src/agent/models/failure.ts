// What went wrong with a model call, in words for people, and what may be done about it. Nothing here ever shows a key.

import { messageOf, SvcError } from '../../core/errors.ts';
import { isFields } from '../../core/fields.ts';
import { type ClockName, type Clocks, clockSentence } from '../timeouts.ts';
import { WireFault } from './wire-fault.ts';

export interface Failure {
  reason: string;
  help?: string;
  /** A later attempt, in minutes or hours, may work. */
  transient: boolean;
  /** Worth another attempt right away. */
  retry: boolean;
  retryAfterMs?: number;
  contextFull?: boolean;
  /** The server is still loading the model: waiting helps, counting attempts does not. */
  loading?: boolean;
  /** What the server does not know; the call may be made without it. */
  refused?: 'stream' | 'usage' | 'tools' | 'max_tokens';
}

/** Why an attempt was ended from this side. */
export type EndedBy = { clock: ClockName } | { serverGone: string };

export interface FailureContext {
  /** The server, for people: never more than scheme, host and port. */
  server: string;
  secret: string | undefined;
  clocks: Clocks;
  endedBy: EndedBy | undefined;
  /** Epoch milliseconds, for a `Retry-After` that is a date. */
  now: number;
}

export function failureOf(error: unknown, context: FailureContext): Failure {
  const failure = classify(error, context);
  return context.secret ? { ...failure, reason: failure.reason.replaceAll(context.secret, '***') } : failure;
}

function classify(error: unknown, { server, clocks, endedBy, now }: FailureContext): Failure {
  if (error instanceof SvcError) {
    return { reason: error.message, transient: false, retry: false, ...(error.help ? { help: error.help } : {}) };
  }
  if (endedBy && 'serverGone' in endedBy) {
    const help = 'Start the model server again, or choose another one with `svc model`.';
    return { reason: endedBy.serverGone, help, transient: true, retry: false };
  }
  const clock = endedBy?.clock ?? socketClock(error);
  if (clock) return { ...clockSentence(clock, clocks[clock]), transient: true, retry: false };
  const fault = inChain(error, (one): one is WireFault => one instanceof WireFault);
  if (fault) return wireFailure(fault, server);
  const answered = inChain(error, isAnswer);
  if (answered) return statusFailure(answered, server, now);
  const code = codeOf(error);
  if (code !== undefined) return networkFailure(code, server);
  const said = isFields(error) && typeof error.message === 'string' ? error.message : messageOf(error);
  return saidInStream(said, server);
}

/** An error that the server wrote into the stream instead of an answer. */
function saidInStream(said: string, server: string): Failure {
  const reason = `The model server ${server} reported: ${short(said)}`;
  if (CONTEXT_FULL.test(said)) return { reason, transient: false, retry: false, contextFull: true, help: CONTEXT_HELP };
  return { reason, transient: true, retry: true };
}

function wireFailure(fault: WireFault, server: string): Failure {
  const reason = `${fault.message} (${server})`;
  switch (fault.kind) {
    case 'reported':
      return saidInStream(fault.message, server);
    case 'cut':
    case 'empty':
      return { reason, transient: true, retry: true };
    case 'not_an_api':
      return {
        reason,
        transient: false,
        retry: false,
        help: 'Is model.base_url the address of the API? `svc model --check` tests it.',
      };
    case 'line_too_long':
    case 'answer_too_long':
      return {
        reason,
        transient: false,
        retry: false,
        help: 'The server is broken or is no model server: `svc model --check` tests it.',
      };
  }
}

const CONTEXT_FULL =
  /context[_ ](length|size|window)|maximum context|exceeds? .{0,40}(context|token)|too many tokens|prompt is too long|n_ctx|context shift is disabled/i;
const CONTEXT_HELP =
  'Set model.context_length to what the server really allows, so that the conversation is shortened in time.';
const NO_STREAM = /\bstream(ing)?\b(?!_options)/i;
const NO_TOOLS = /does not support tools|tools? (is|are) not supported|tool[_ ]choice|--jinja/i;
const NO_CREDIT = /insufficient_quota|billing|credit balance/i;

function statusFailure(
  { statusCode: status, responseBody, responseHeaders }: Answer,
  server: string,
  now: number,
): Failure {
  const said = saidBy(responseBody);
  const reason = `The model server ${server} answered ${status}${said === '' ? '' : `: ${short(said)}`}`;
  if (status === 401 || status === 403) {
    const help = 'Check the key: model.api_key or the variable that model.api_key_env names.';
    return { reason, help, transient: false, retry: false };
  }
  if (status === 413 || (status < 600 && CONTEXT_FULL.test(said))) {
    return { reason, help: CONTEXT_HELP, transient: false, retry: false, contextFull: true };
  }
  if (status === 503 && /loading/i.test(said)) {
    return { reason: 'The server is loading the model.', transient: true, retry: true, loading: true };
  }
  if (status === 429 && NO_CREDIT.test(said)) {
    return { reason, help: 'The account at this provider has no credit left.', transient: false, retry: false };
  }
  if (status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501)) {
    const retryAfterMs = retryAfter(responseHeaders, now);
    const refused = NO_TOOLS.test(said) ? ({ refused: 'tools' } as const) : {};
    return {
      reason,
      transient: true,
      retry: true,
      ...refused,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
  }
  const help = status === 404 ? NOT_FOUND_HELP : undefined;
  const refused = /max_completion_tokens/.test(said)
    ? 'max_tokens'
    : /stream_options|include_usage/i.test(said)
      ? 'usage'
      : NO_STREAM.test(said) || status === 501
        ? 'stream'
        : NO_TOOLS.test(said)
          ? 'tools'
          : undefined;
  return { reason, transient: false, retry: false, ...(help ? { help } : {}), ...(refused ? { refused } : {}) };
}

const NOT_FOUND_HELP = 'Check model.base_url and model.name; `svc model --list` shows the models of the server.';

function networkFailure(code: string, server: string): Failure {
  if (/CERT|SIGNED|UNABLE_TO_(GET|VERIFY)|ERR_TLS/.test(code)) {
    const help = 'Point NODE_EXTRA_CA_CERTS to the certificate authority of the server, or use its right name.';
    return { reason: `The certificate of ${server} is not valid (${code}).`, help, transient: false, retry: false };
  }
  if (code === 'ENOTFOUND') {
    return { reason: `There is no host of that name: ${server}.`, help: REACH_HELP, transient: true, retry: false };
  }
  if (/ECONNREFUSED|EHOST|ENET|UND_ERR_CONNECT_TIMEOUT|EAI_AGAIN/.test(code)) {
    return {
      reason: `Cannot reach the model server ${server} (${code}).`,
      help: REACH_HELP,
      transient: true,
      retry: true,
    };
  }
  return { reason: `The connection to the model server ${server} broke (${code}).`, transient: true, retry: true };
}

const REACH_HELP =
  'Is the server running, and is model.base_url right? `svc model --check` tests it, `svc model` chooses another.';

function socketClock(error: unknown): ClockName | undefined {
  const code = codeOf(error);
  return code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT' ? 'read' : undefined;
}

interface Answer {
  statusCode: number;
  responseBody?: string;
  responseHeaders?: Record<string, string>;
}

/** The SDK also gives a status to errors that happened while a good answer was read; those are not answers. */
const isAnswer = (value: unknown): value is Answer =>
  isFields(value) && typeof value.statusCode === 'number' && value.statusCode >= 400;

/** Seconds or a date; undefined when the server gave none or nonsense. */
function retryAfter(headers: Record<string, string> | undefined, now: number): number | undefined {
  const text = headers?.['retry-after'];
  if (text === undefined) return undefined;
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** The sentence inside an error body, whatever the server calls its field. */
function saidBy(body: string | undefined): string {
  if (!body) return '';
  try {
    const value: unknown = JSON.parse(body);
    if (!isFields(value)) return body;
    const said = isFields(value.error) ? value.error.message : (value.error ?? value.message ?? value.detail);
    return typeof said === 'string' ? said : JSON.stringify(said ?? value);
  } catch {
    return body.replace(/<[^>]*>/g, ' ');
  }
}

const short = (text: string): string => text.trim().replace(/\s+/g, ' ').slice(0, 300).toWellFormed();

function codeOf(error: unknown): string | undefined {
  const found = inChain(error, (one): one is { code: string } => isFields(one) && typeof one.code === 'string');
  return found?.code;
}

function inChain<T>(error: unknown, fits: (one: unknown) => one is T): T | undefined {
  const waiting: unknown[] = [error];
  for (let depth = 0; depth < 20 && waiting.length > 0; depth += 1) {
    const one = waiting.shift();
    if (fits(one)) return one;
    if (isFields(one) && one.cause !== undefined) waiting.push(one.cause);
    if (one instanceof AggregateError) waiting.push(...one.errors);
  }
  return undefined;
}
