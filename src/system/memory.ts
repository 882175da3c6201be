// Gives back what loading and start-up left behind. A long-running process that is mostly idle would keep it for hours.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects garbage once and returns free pages to the system. Blocks for some tens of milliseconds. */
export function releaseStartupMemory(): void {
  setFlagsFromString('--expose_gc');
  const collect: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose_gc');
  if (typeof collect === 'function') collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
