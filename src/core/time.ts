// Time and identity come in as arguments, so that rules stay pure and tests can turn the clock.

export interface Clock {
  /** Wall clock, epoch milliseconds. May jump. */
  now(): number;
  /** Monotonic milliseconds. Never jumps, means nothing outside this process. */
  monotonic(): number;
  /** Resolves after `ms` of elapsed time, or at once when the signal aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A new id that sorts by creation time, e.g. `newId('run')` is `run_0k3v…`. Unique across processes. */
export type NewId = (prefix: string) => string;
