// The three clocks of a model call. Local servers may take long to load and to read a prompt, so they get patience by
// default; what the environment says always wins, also when it says the default.

import { SvcError } from '../core/errors.ts';

export const CLOCK_VARIABLES = {
  read: 'SVC_STREAM_READ_TIMEOUT',
  stale: 'SVC_STREAM_STALE_TIMEOUT',
  call: 'SVC_API_TIMEOUT',
} as const;

export type ClockName = keyof typeof CLOCK_VARIABLES;

/** Milliseconds; `undefined` means off. */
export interface Clocks {
  /** Streaming: nothing at all came over the socket. */
  read: number | undefined;
  /** Streaming: no data came, keep-alive comments do not count. */
  stale: number | undefined;
  /** Not streaming: the whole call. */
  call: number | undefined;
}

export type ClockOverrides = Partial<Clocks>;

const DEFAULTS: Clocks = { read: 120_000, stale: 180_000, call: 1_800_000 };
const LOCAL: Clocks = { read: 1_800_000, stale: undefined, call: 1_800_000 };

// Longer timers overflow and fire at once.
const LONGEST_MS = 2 ** 31 - 1;

/** Reads the variables. Throws `config_invalid` that names every one with a bad value. */
export function clockOverrides(env: Readonly<Record<string, string | undefined>>): ClockOverrides {
  const overrides: ClockOverrides = {};
  const bad: string[] = [];
  for (const [clock, variable] of entries(CLOCK_VARIABLES)) {
    const text = env[variable]?.trim();
    if (text === undefined || text === '') continue;
    const seconds = /^(\d+(\.\d*)?|\.\d+)(e\+?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
    if (Number.isFinite(seconds)) overrides[clock] = seconds === 0 ? undefined : Math.min(seconds * 1000, LONGEST_MS);
    else bad.push(`${variable} is "${text}"`);
  }
  if (bad.length === 0) return overrides;
  throw new SvcError('config_invalid', `Not a number of seconds: ${bad.join(', ')}.`, {
    help: 'Use a positive number of seconds, or 0 to switch the clock off.',
  });
}

export function clocksFor(local: boolean, overrides: ClockOverrides): Clocks {
  return { ...(local ? LOCAL : DEFAULTS), ...overrides };
}

/** What a person is told when a clock fired. */
export function clockSentence(clock: ClockName, ms: number | undefined): { reason: string; help: string } {
  const after = ms === undefined ? '' : ` for ${ms / 1000} s`;
  const reason = {
    read: `The model server sent nothing${after} (stream read timeout).`,
    stale: `The model server kept the connection open but sent no data${after} (stale stream timeout).`,
    call: `The model server did not finish its answer${after.replace(' for ', ' within ')} (API timeout).`,
  }[clock];
  return { reason, help: `Raise it with ${CLOCK_VARIABLES[clock]}=<seconds>; 0 switches this clock off.` };
}

const entries = <K extends string, V>(record: Readonly<Record<K, V>>): [K, V][] => Object.entries(record) as [K, V][];
