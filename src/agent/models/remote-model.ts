// A model on a server: one call is one step. What is sent and how it is read is given as `speak`; clocks, retries,
// fallbacks and the words for failures are the same for all of them and live here.

import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { Clock } from '../../core/time.ts';
import type { Model, ModelReply, ModelRequest } from '../model.ts';
import type { ClockName, ClockOverrides, Clocks } from '../timeouts.ts';
import { untilAborted } from '../until-aborted.ts';
import { type Answer, gatherAnswer } from './answer.ts';
import { type EndedBy, type Failure, failureOf } from './failure.ts';
import { promptOf, toolsOf } from './sdk-prompt.ts';
import type { Socket } from './socket.ts';
import type { Transport } from './transport.ts';

export interface Connection extends Omit<Socket, 'readMs'> {
  clocks: Clocks;
  /** Asks a silent local server how it is; absent for remote ones. */
  watch?(options: WatchOptions): Watch;
}

export interface WatchOptions {
  onState(text: string): void;
  onGone(reason: string): void;
}

export interface Watch {
  /** Data came: the server is well. */
  touch(): void;
  stop(): void;
}

/** What is set for every server alike. */
export interface ServerSettings {
  maxTokens: number;
  contextLength: number | undefined;
  overrides: ClockOverrides;
  transport: Transport;
  clock: Clock;
  retryDelaysMs: readonly number[];
}

/** What the server understands, as far as it is known. */
export interface Wishes {
  usage: boolean;
  /** False: the limit of the answer is called `max_completion_tokens` there. */
  maxTokens: boolean;
}

/** Everything that one attempt works with. */
export interface Line {
  call: LanguageModelV4CallOptions;
  streaming: boolean;
  wishes: Wishes;
  socket: Socket;
  signal: AbortSignal;
  answer: Answer;
  /** Data came. */
  touch(): void;
}

export interface RemoteModelOptions {
  label: string;
  /** For messages: scheme, host and port only. */
  server: string;
  secret: string | undefined;
  maxTokens: number;
  contextLength(): number | undefined;
  /** Loads what is needed; called before every call, so it keeps what it loaded. A rejection is a failed call. */
  connect(): Promise<Connection>;
  /** One attempt: fills the answer and resolves when it is whole; throws whatever went wrong. */
  speak(line: Line): Promise<void>;
  clock: Pick<Clock, 'sleep' | 'now' | 'monotonic'>;
  /** Waits between attempts; their number is the number of retries. */
  retryDelaysMs: readonly number[];
}

// A server that asks for more is not waited for here: the run is tried again later.
const LONGEST_WAIT_MS = 60_000;
const LOADING_WAIT_MS = 2000;

export function remoteModel(options: RemoteModelOptions): Model {
  // What the server turned out not to know is not asked for again.
  const lacks = new Set<NonNullable<Failure['refused']>>();

  const complete = async (request: ModelRequest): Promise<ModelReply> => {
    const startedAt = options.clock.monotonic();
    for (let retries = 0; ; ) {
      if (request.signal.aborted) return { kind: 'aborted' };
      // A copy: calls run in parallel, and another one may learn the same thing meanwhile.
      const without = new Set(lacks);
      const outcome = await untilAborted(attempt(request, options, without), request.signal);
      if (outcome === undefined) return { kind: 'aborted' };
      if (outcome.kind !== 'failure') return outcome;
      const { failure, shown, clocks } = outcome;
      if (failure.refused && !without.has(failure.refused) && !shown) {
        lacks.add(failure.refused);
        if (failure.refused === 'tools') request.onNotice?.('This model cannot use tools; it answers without them.');
        continue;
      }
      const patience = clocks?.read ?? Number.POSITIVE_INFINITY;
      const loading = failure.loading && options.clock.monotonic() - startedAt < patience;
      const delayMs = loading ? LOADING_WAIT_MS : waitBefore(retries, failure, options.retryDelaysMs);
      if (shown || delayMs === undefined) return replyOf(failure);
      if (!loading) retries += 1;
      request.onNotice?.(
        loading ? failure.reason : `${failure.reason} Trying again in ${Math.ceil(delayMs / 1000)} s.`,
      );
      await options.clock.sleep(delayMs, request.signal);
    }
  };

  return {
    label: options.label,
    get contextLength() {
      return options.contextLength();
    },
    complete,
  };
}

type Outcome =
  | Exclude<ModelReply, { kind: 'failed' }>
  | { kind: 'failure'; failure: Failure; shown: boolean; clocks: Clocks | undefined };

/** One request over the wire. */
async function attempt(
  request: ModelRequest,
  options: RemoteModelOptions,
  without: ReadonlySet<string>,
): Promise<Outcome> {
  const streaming = !without.has('stream');
  const answer = gatherAnswer(request);
  const ending = createEnding(request.signal);
  let clocks: Clocks | undefined;
  let watch: Watch | undefined;
  let timer: NodeJS.Timeout | undefined;
  try {
    const connection = await options.connect();
    clocks = connection.clocks;
    timer = startClock(streaming ? 'stale' : 'call', clocks, ending);
    watch = connection.watch?.({
      onState: (text) => request.onNotice?.(text),
      onGone: (reason) => ending.end({ serverGone: reason }),
    });
    const touch = (): void => {
      if (streaming) timer?.refresh();
      watch?.touch();
    };
    const { request: send, dispatcher } = connection;
    await options.speak({
      call: await callOptions(request, options, without.has('tools'), ending.signal),
      streaming,
      wishes: { usage: !without.has('usage'), maxTokens: !without.has('max_tokens') },
      socket: { request: send, dispatcher, readMs: streaming ? clocks.read : undefined },
      signal: ending.signal,
      answer,
      touch,
    });
    return answer.finish();
  } catch (error) {
    if (request.signal.aborted) return { kind: 'aborted' };
    const context = {
      server: options.server,
      secret: options.secret,
      clocks: clocks ?? { read: undefined, stale: undefined, call: undefined },
      endedBy: ending.by,
      now: options.clock.now(),
    };
    return { kind: 'failure', failure: failureOf(error, context), shown: answer.shown, clocks };
  } finally {
    clearTimeout(timer);
    watch?.stop();
    ending.release();
  }
}

const callOptions = async (
  request: ModelRequest,
  options: RemoteModelOptions,
  withoutTools: boolean,
  abortSignal: AbortSignal,
): Promise<LanguageModelV4CallOptions> => ({
  prompt: promptOf(request.system, request.messages),
  maxOutputTokens: options.maxTokens,
  ...(withoutTools || request.tools.length === 0 ? {} : { tools: await toolsOf(request.tools) }),
  abortSignal,
});

interface Ending {
  signal: AbortSignal;
  readonly by: EndedBy | undefined;
  end(by: EndedBy): void;
  release(): void;
}

/** Joins the caller's signal with our own reasons to end an attempt, and remembers which it was. */
function createEnding(outer: AbortSignal): Ending {
  const controller = new AbortController();
  let by: EndedBy | undefined;
  const forward = (): void => controller.abort();
  if (outer.aborted) forward();
  outer.addEventListener('abort', forward, { once: true });
  return {
    signal: controller.signal,
    get by() {
      return by;
    },
    end(reason) {
      by ??= reason;
      controller.abort();
    },
    release: () => outer.removeEventListener('abort', forward),
  };
}

function startClock(clock: ClockName, clocks: Clocks, ending: Ending): NodeJS.Timeout | undefined {
  const ms = clocks[clock];
  return ms === undefined ? undefined : setTimeout(() => ending.end({ clock }), ms);
}

function waitBefore(retries: number, failure: Failure, delaysMs: readonly number[]): number | undefined {
  const delayMs = delaysMs[retries];
  if (!failure.retry || delayMs === undefined) return undefined;
  if (failure.retryAfterMs === undefined) return delayMs;
  return failure.retryAfterMs > LONGEST_WAIT_MS ? undefined : Math.max(failure.retryAfterMs, 0);
}

const replyOf = ({ reason, help, transient, contextFull }: Failure): ModelReply => ({
  kind: 'failed',
  reason,
  transient,
  ...(help === undefined ? {} : { help }),
  ...(contextFull ? { contextFull } : {}),
});
