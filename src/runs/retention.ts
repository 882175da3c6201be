// Removes runs that ended long ago, a few at a time, so that nobody waits for it.

import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import type { Clock } from '../core/time.ts';
import { pruneRuns } from '../store/runs.ts';
import type { Store } from '../store/store.ts';
import { startPeriodic } from '../system/periodic.ts';

const EVERY_MS = 3_600_000;
const AT_ONCE = 200;

export interface RetentionOptions {
  store: Store;
  clock: Clock;
  log: Logger;
  keepMs: number;
}

export function startRetention({ store, clock, log, keepMs }: RetentionOptions): { stop(): Promise<void> } {
  return startPeriodic(clock, EVERY_MS, async (signal) => {
    try {
      let removed = AT_ONCE;
      while (removed === AT_ONCE && !signal.aborted) {
        removed = await store.write(pruneRuns({ before: clock.now() - keepMs, limit: AT_ONCE }));
      }
    } catch (error) {
      log.warn('Old runs could not be removed', { error: messageOf(error) });
    }
  });
}
