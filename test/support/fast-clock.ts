// A real clock that runs many times faster, so that leases and delays keep their true lengths in tests.

import type { Clock } from '../../src/core/time.ts';
import { realClock } from '../../src/system/clock.ts';

export function fastClock(speed = 20): Clock {
  const start = realClock.now();
  const monotonicStart = realClock.monotonic();
  const monotonic = (): number => (realClock.monotonic() - monotonicStart) * speed;
  return {
    monotonic,
    now: () => Math.round(start + monotonic()),
    sleep: (ms, signal) => realClock.sleep(ms / speed, signal),
  };
}
