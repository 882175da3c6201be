// What else becomes true in the transaction that ends a run. Each room that hangs something on a run adds its line here.

import type { Run } from '../core/run.ts';
import { jobRunEnded } from './job-outcome.ts';
import type { Steps } from './operation.ts';

/** Called with the run as it is after its final move (delivered, silent, failed or dead). */
export function* runEnded(run: Run): Steps<void> {
  if (run.source.kind === 'job') yield* jobRunEnded(run);
}
