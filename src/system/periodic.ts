// Something that is done again and again for as long as the program runs.

import type { Clock } from '../core/time.ts';

/** Does the work at once and then after every pause. The work must not throw, and ends soon after its signal aborts. */
export function startPeriodic(
  clock: Clock,
  everyMs: number,
  work: (signal: AbortSignal) => Promise<void>,
): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const loop = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      await work(stopped.signal);
      await clock.sleep(everyMs, stopped.signal);
    }
  };
  const done = loop();
  return {
    stop: () => {
      stopped.abort();
      return done;
    },
  };
}
