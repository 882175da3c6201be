// A run: one prompt, one answer, at most one set of deliveries. This file owns its states and legal moves.

import type { Address } from './address.ts';

export const RUN_STATES = ['queued', 'running', 'answered', 'delivered', 'silent', 'failed', 'dead'] as const;
export type RunState = (typeof RUN_STATES)[number];

/** `running` may go back to `queued` when its worker stopped in order; `failed` and `dead` only by a person's retry. */
export const LEGAL_MOVES: Readonly<Record<RunState, readonly RunState[]>> = {
  queued: ['running', 'failed'],
  running: ['queued', 'answered', 'failed'],
  answered: ['delivered', 'silent', 'dead'],
  delivered: [],
  silent: [],
  failed: ['queued'],
  dead: ['answered'],
};

export const isFinal = (state: RunState): boolean =>
  state === 'delivered' || state === 'silent' || state === 'failed' || state === 'dead';

export const RUN_SOURCES = ['webhook', 'job', 'manual'] as const;

/** What started the run. `name` is the route's name, the job's id or a word of the caller. */
export interface RunSource {
  kind: (typeof RUN_SOURCES)[number];
  name: string;
  /** The stored event (webhook) or the due instant in epoch ms as text (job). */
  ref?: string;
}

/** How the run is to be carried out. Fixed when the run is queued: nothing in a payload can change it later. */
export interface RunSettings {
  /** What messages call it where the source's own name means nothing to people (the name of a job). */
  title?: string;
  /** Shown to the model before the prompt; loaded when the run starts. */
  skills: string[];
  /** The operator's own words (a route's template). They stand outside the fence that holds an untrusted prompt. */
  instructions?: string;
  /** Names of toolsets or tools; the run gets these and nothing else. */
  toolsets: string[];
  /** When set, nothing outside this list is given, whatever the toolsets hold. */
  allowedTools?: string[];
  /** A model name that overrides the configured one. */
  model?: string;
  timeoutMs?: number;
  /** True when the prompt holds text from outside (webhooks, scripts that print fetched text). */
  untrusted: boolean;
  /** `[SILENT]` in the answer suppresses delivery (jobs only). */
  silentMarker: boolean;
  /** Tell the target when the run fails (jobs only). */
  reportFailure: boolean;
  /** How many times a transient failure is tried again. */
  maxRetries: number;
}

/** At most `max` runs with this key are running at once. */
export interface RunLimit {
  key: string;
  max: number;
}

export interface NewRun {
  id: string;
  source: RunSource;
  prompt: string;
  settings: RunSettings;
  /** Where the answer goes; empty means nowhere (it stays in the row). */
  addresses: Address[];
  limit?: RunLimit;
  /** Runs with the same serial key run one after another, in the order they were queued. */
  serialKey?: string;
  createdAt: number;
  /** Not started before this instant; defaults to `createdAt`. */
  availableAt?: number;
}

export interface Run extends NewRun {
  state: RunState;
  availableAt: number;
  /** Fencing number: grows with every claim; a write with an older number is refused. */
  attempt: number;
  owner?: string;
  leaseUntil?: number;
  cancelRequested: boolean;
  retries: number;
  answer?: string;
  error?: string;
  startedAt?: number;
  endedAt?: number;
}
