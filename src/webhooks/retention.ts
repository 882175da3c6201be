// Removes stored events by age and by size, a few at a time, and gives a name to direct deliveries nobody heard of again.

import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import type { Clock } from '../core/time.ts';
import { giveUpPending, pruneEvents } from '../store/events.ts';
import type { Store } from '../store/store.ts';
import { startPeriodic } from '../system/periodic.ts';

const EVERY_MS = 60_000;
/** Longer than any direct delivery may take, with room for clocks that differ. */
const GIVE_UP_MS = 30_000;

export interface EventRetention {
  store: Store;
  clock: Clock;
  log: Logger;
  keepMs: number;
  keepBytes: number;
  /** No other gateway uses this store. */
  alone: boolean;
}

export function startEventRetention(options: EventRetention): { stop(): Promise<void> } {
  const { clock, log } = options;
  // A gateway that has the store for itself knows at its start that nobody is sending any more.
  let graceMs = options.alone ? 0 : GIVE_UP_MS;
  return startPeriodic(clock, EVERY_MS, async (signal) => {
    try {
      await tidyEvents(options, graceMs, signal);
      graceMs = GIVE_UP_MS;
    } catch (error) {
      log.warn('Old events could not be removed', { reason: messageOf(error) });
    }
  });
}

async function tidyEvents(
  { store, clock, log, keepMs, keepBytes }: EventRetention,
  graceMs: number,
  signal: AbortSignal,
): Promise<void> {
  const now = clock.now();
  const lost = await store.write(giveUpPending({ before: now - graceMs }));
  if (lost > 0) log.warn('Direct deliveries were interrupted; nobody knows whether they arrived', { count: lost });
  while (!signal.aborted) {
    if ((await store.write(pruneEvents({ now, olderThan: now - keepMs, maxBytes: keepBytes }))) === 0) return;
  }
}
