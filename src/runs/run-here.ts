// Carries out one certain run in this process: for commands that start something and have no gateway to leave it to.

import type { Run } from '../core/run.ts';
import { claimOneRun } from '../store/run-claims.ts';
import { getRun } from '../store/runs.ts';
import { type AttemptDeps, LEASE_MS, startAttempt } from './attempt.ts';

/** Resolves with the run when nothing more happens to it here; undefined when another process took it. */
export async function runHere(
  runId: string,
  deps: Omit<AttemptDeps, 'leaseMs'>,
  signal: AbortSignal,
): Promise<Run | undefined> {
  const { store, clock } = deps;
  const owner = deps.newId('here');
  const claimed = await store.write(claimOneRun({ runId, owner, now: clock.now(), leaseMs: LEASE_MS, after: '' }));
  if (!claimed) return undefined;
  const attempt = startAttempt(claimed, 0, { ...deps, leaseMs: LEASE_MS });
  const stop = (): void => attempt.stop();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  await attempt.done;
  signal.removeEventListener('abort', stop);
  return store.read(getRun({ id: runId }));
}
