// What the log says about refused requests: one line per route and second with a count, and an alarm when a route sees
// nothing but bad signatures, because then somebody is knocking or the secrets no longer match.

import type { Logger } from '../core/log.ts';
import type { Clock } from '../core/time.ts';

export interface Refusals {
  refused(route: string, reason: string): void;
  /** A genuine request: ends a row of bad ones. */
  genuine(route: string): void;
}

const QUIET_MS = 1000;
const ALARM_AT = 20;

interface Tally {
  /** Refused since the last line. */
  unsaid: number;
  inARow: number;
  quiet: boolean;
}

export function createRefusals(log: Logger, clock: Pick<Clock, 'sleep'>): Refusals {
  const tallies = new Map<string, Tally>();
  const say = (route: string, reason: string, tally: Tally): void => {
    log.warn('Invalid signature', { route, reason, count: tally.unsaid });
    tally.unsaid = 0;
    tally.quiet = true;
    void clock.sleep(QUIET_MS).then(() => {
      tally.quiet = false;
      if (tally.unsaid > 0) say(route, reason, tally);
    });
  };
  return {
    refused: (route, reason) => {
      const tally = tallies.get(route) ?? { unsaid: 0, inARow: 0, quiet: false };
      tallies.set(route, tally);
      tally.unsaid++;
      tally.inARow++;
      if (!tally.quiet) say(route, reason, tally);
      if (tally.inARow === ALARM_AT)
        log.error('Nothing but invalid signatures on this route: compare its secret with the one at the sender', {
          route,
          count: tally.inARow,
        });
    },
    genuine: (route) => {
      const tally = tallies.get(route);
      if (tally) tally.inARow = 0;
    },
  };
}
