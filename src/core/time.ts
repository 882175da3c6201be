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

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';

/** A number in base 32 with leading zeros: texts of one length sort like the numbers they stand for. */
export function sortableDigits(value: number, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32)) text = DIGITS.charAt(rest % 32) + text;
  return text;
}

/** How many digits an instant takes at the start of an id. */
export const TIME_DIGITS = 9;
