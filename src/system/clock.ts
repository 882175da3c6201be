// Real time and real ids. The only file that asks the machine what time it is on behalf of the rules.

import { randomBytes } from 'node:crypto';
import { type Clock, type NewId, sortableDigits, TIME_DIGITS } from '../core/time.ts';

export const realClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      // Longer delays would overflow to one millisecond; waking early is something every caller must bear anyway.
      const timer = setTimeout(done, Math.min(ms, 2 ** 31 - 1));
      signal?.addEventListener('abort', done);
    }),
};

const SEQUENCE_DIGITS = 3;
const RANDOM_DIGITS = 8;
const SEQUENCE_LIMIT = 32 ** SEQUENCE_DIGITS;

/** Ids of one maker sort in the order they were made, also when the clock steps back; random digits keep processes apart. */
export function createNewId(clock: Pick<Clock, 'now'>): NewId {
  let last = 0;
  let lastDigits = '';
  let sequence = 0;
  return (prefix) => {
    const now = clock.now();
    sequence++;
    if (now > last || sequence >= SEQUENCE_LIMIT) {
      sequence = 0;
      last = Math.max(last + 1, now);
      lastDigits = sortableDigits(last, TIME_DIGITS);
    }
    return `${prefix}_${lastDigits}${sortableDigits(sequence, SEQUENCE_DIGITS)}${randomDigits()}`;
  };
}

export const newId: NewId = createNewId(realClock);

// Asking for randomness costs the same for eight bytes as for four thousand.
const POOL_BYTES = 4096;
let pool = Buffer.alloc(0);
let used = 0;

function randomDigits(): string {
  if (used + RANDOM_DIGITS > pool.length) {
    pool = randomBytes(POOL_BYTES);
    used = 0;
  }
  let text = '';
  for (const end = used + RANDOM_DIGITS; used < end; used++) text += sortableDigits((pool[used] ?? 0) % 32, 1);
  return text;
}
