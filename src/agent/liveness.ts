// While a local server is silent it is asked how it is: a busy one is shown as such, a dead one ends the call in seconds
// instead of half an hour. Slow is not dead: only a server that takes no connections, or says that it has nothing to
// do, is given up.

import type { Clock } from '../core/time.ts';
import type { HttpCaller } from '../system/fetch-json.ts';
import {
  type ServerState,
  stateFromHealth,
  stateFromLmStudio,
  stateFromMetrics,
  stateFromOllama,
  stateFromSlots,
  stateText,
} from './server-state.ts';

export interface LivenessOptions {
  call: HttpCaller['call'];
  /** Scheme, host and port. */
  origin: string;
  model: string;
  headers: Record<string, string>;
  clock: Pick<Clock, 'sleep' | 'monotonic'>;
  onState(text: string): void;
  onGone(reason: string): void;
  /** Silence before the first question, and the time between questions. */
  silenceMs?: number;
  everyMs?: number;
}

// Twice, because a server that is being restarted refuses for a moment; four times, because a request may just be
// between two queues.
const REFUSALS_UNTIL_GONE = 2;
const IDLE_UNTIL_GONE = 4;
const ANSWER_MS = 3000;

/** Starts watching. `onGone` is called at most once. Nothing is asked while data flows. */
export function watchServer(options: LivenessOptions): { touch(): void; stop(): void } {
  const { clock, silenceMs = 5000, everyMs = 4000 } = options;
  const stop = new AbortController();
  let lastData = clock.monotonic();
  let told = '';

  const watch = async (): Promise<void> => {
    let refusals = 0;
    let idle = 0;
    let probe: Probe | undefined;
    while (!stop.signal.aborted) {
      const silent = clock.monotonic() - lastData;
      if (silent < silenceMs) {
        refusals = idle = 0;
        await clock.sleep(silenceMs - silent, stop.signal);
        continue;
      }
      const seen = await look(options, probe, stop.signal);
      if (stop.signal.aborted) return;
      probe = seen.probe ?? probe;
      refusals = seen.refused ? refusals + 1 : 0;
      idle = seen.state?.kind === 'idle' ? idle + 1 : 0;
      if (refusals >= REFUSALS_UNTIL_GONE) {
        return options.onGone(`The model server ${options.origin} is gone: it takes no connections any more.`);
      }
      if (idle >= IDLE_UNTIL_GONE) {
        return options.onGone(`The model server ${options.origin} has nothing to do: it lost this request.`);
      }
      tell(seen.state);
      await clock.sleep(seen.refused ? Math.min(1000, everyMs) : everyMs, stop.signal);
    }
  };

  const tell = (state: ServerState | undefined): void => {
    const text = state && state.kind !== 'idle' ? stateText(state) : '';
    if (text !== '' && text !== told) options.onState(text);
    told = text;
  };

  void watch();
  return {
    touch: () => {
      lastData = clock.monotonic();
    },
    stop: () => stop.abort(),
  };
}

interface Probe {
  path: string;
  read(status: number, json: unknown, text: string, model: string): ServerState | undefined;
}

const PROBES: readonly Probe[] = [
  { path: '/slots', read: (_status, json) => stateFromSlots(json) },
  { path: '/api/ps', read: (_status, json, _text, model) => stateFromOllama(json, model) },
  { path: '/api/v0/models', read: (_status, json, _text, model) => stateFromLmStudio(json, model) },
  { path: '/metrics', read: (_status, _json, text) => stateFromMetrics(text) },
  { path: '/health', read: (status, json) => stateFromHealth(status, json) },
];

interface Seen {
  state?: ServerState;
  /** The question that this server understands. */
  probe?: Probe;
  refused: boolean;
}

/** Asks until one question is understood. A server too busy to answer is neither understood nor refused. */
async function look(options: LivenessOptions, known: Probe | undefined, signal: AbortSignal): Promise<Seen> {
  for (const probe of known ? [known] : PROBES) {
    const url = options.origin + probe.path;
    const reply = await options.call({ method: 'GET', url, headers: options.headers, timeoutMs: ANSWER_MS, signal });
    if (reply.kind !== 'answer') return { refused: reply.kind === 'not_sent' };
    const state = probe.read(reply.status, reply.json, reply.text, options.model);
    if (state) return { state, probe, refused: false };
  }
  return { refused: false };
}
