// Removes stored events by age and by size, a few at a time, and gives a name to direct deliveries nobody heard of again.

import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import type { Clock } from '../core/time.ts';
import { giveUpPending, pruneEvents } from '../store/events.ts';
import type { Store } from '../store/store.ts';

const EVERY_MS = 60_000;
/** Longer than any direct delivery may take, with room for clocks that differ. */
const GIVE_UP_MS = 30_000;

export interface EventRetention {
  store: Store;
  clock: Clock;
  log: Logger;
  keepMs: number;
  keepBytes: number;
}

export function startEventRetention(options: EventRetention): { stop(): Promise<void> } {
  const { clock, log } = options;
  const stopped = new AbortController();
  const work = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      try {
        await tidyEvents(options, stopped.signal);
      } catch (error) {
        log.warn('Old events could not be removed', { reason: messageOf(error) });
      }
      await clock.sleep(EVERY_MS, stopped.signal);
    }
  };
  const done = work();
  return {
    stop: () => {
      stopped.abort();
      return done;
    },
  };
}

async function tidyEvents(
  { store, clock, log, keepMs, keepBytes }: EventRetention,
  signal: AbortSignal,
): Promise<void> {
  const now = clock.now();
  const lost = await store.write(giveUpPending({ before: now - GIVE_UP_MS }));
  if (lost > 0) log.warn('Direct deliveries were interrupted; nobody knows whether they arrived', { count: lost });
  while (!signal.aborted) {
    if ((await store.write(pruneEvents({ now, olderThan: now - keepMs, maxBytes: keepBytes }))) === 0) return;
  }
}
