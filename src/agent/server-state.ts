// What the well-known local servers say about themselves, read into one vocabulary. Pure.

import { type Fields, isFields } from '../core/fields.ts';

export type ServerState =
  | { kind: 'loading' }
  | { kind: 'queued' }
  | { kind: 'prefilling'; percent?: number }
  | { kind: 'generating' }
  /** At work, without saying on what. */
  | { kind: 'working' }
  /** Nothing is being processed: a request that still waits was lost. */
  | { kind: 'idle' };

/** llama.cpp `GET /slots`. */
export function stateFromSlots(json: unknown): ServerState | undefined {
  if (!Array.isArray(json) || json.length === 0 || !json.every(isFields)) return undefined;
  if (!json.every((slot) => 'is_processing' in slot || 'state' in slot)) return undefined;
  const busy = json.filter((slot) => slot.is_processing === true || Number(slot.state) > 0);
  if (busy.length === 0) return { kind: 'idle' };
  const reading = busy.find((slot) => decodedBy(slot) === 0);
  if (!reading) return { kind: 'generating' };
  const [done, all] = [Number(reading.n_prompt_tokens_processed), Number(reading.n_prompt_tokens)];
  return done >= 0 && all > 0
    ? { kind: 'prefilling', percent: Math.min(100, Math.round((100 * done) / all)) }
    : { kind: 'prefilling' };
}

function decodedBy(slot: Fields): number | undefined {
  const next = Array.isArray(slot.next_token) ? slot.next_token[0] : slot.next_token;
  const count = isFields(next) ? next.n_decoded : slot.n_decoded;
  return typeof count === 'number' ? count : undefined;
}

/** Ollama `GET /api/ps`: the models in memory. */
export function stateFromOllama(json: unknown, model: string): ServerState | undefined {
  if (!isFields(json) || !Array.isArray(json.models)) return undefined;
  const names = json.models.filter(isFields).flatMap((one) => [one.name, one.model]);
  const wanted = model.includes(':') ? model : `${model}:latest`;
  return names.includes(wanted) || names.includes(model) ? { kind: 'working' } : { kind: 'loading' };
}

/** LM Studio `GET /api/v0/models`. */
export function stateFromLmStudio(json: unknown, model: string): ServerState | undefined {
  if (!isFields(json) || !Array.isArray(json.data)) return undefined;
  const entry = json.data.filter(isFields).find((one) => one.id === model);
  if (typeof entry?.state !== 'string') return undefined;
  return entry.state === 'loaded' ? { kind: 'working' } : { kind: 'loading' };
}

/** vLLM (and servers that copy its metrics) `GET /metrics`. */
export function stateFromMetrics(text: string): ServerState | undefined {
  const running = gauge(text, 'num_requests_running');
  const waiting = gauge(text, 'num_requests_waiting');
  if (running === undefined) return undefined;
  if (running > 0) return { kind: 'working' };
  return (waiting ?? 0) > 0 ? { kind: 'queued' } : { kind: 'idle' };
}

function gauge(text: string, name: string): number | undefined {
  const values = [...text.matchAll(new RegExp(`^\\w+:${name}(?:\\{[^}]*\\})?\\s+([0-9.e+]+)\\s*$`, 'gm'))];
  return values.length === 0 ? undefined : values.reduce((sum, match) => sum + Number(match[1]), 0);
}

/** `GET /health` of llama.cpp, vLLM and others. */
export function stateFromHealth(status: number, json: unknown): ServerState | undefined {
  const text = JSON.stringify(json ?? '');
  if (/loading/i.test(text)) return { kind: 'loading' };
  return status === 200 ? { kind: 'working' } : undefined;
}

/** What a waiting person reads. */
export function stateText(state: ServerState): string {
  switch (state.kind) {
    case 'loading':
      return 'The server is loading the model.';
    case 'queued':
      return 'The server is busy; the request waits in its queue.';
    case 'prefilling':
      return state.percent === undefined
        ? 'The server is reading the prompt.'
        : `The server is reading the prompt (${state.percent} %).`;
    case 'generating':
      return 'The server is generating.';
    case 'working':
      return 'The server is working.';
    case 'idle':
      return 'The server is idle.';
  }
}
