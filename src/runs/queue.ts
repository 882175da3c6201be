// Queueing a run that nothing else must be stored with. Webhooks and jobs insert theirs in their own transactions and
// only wake the worker.

import type { NewRun } from '../core/run.ts';
import type { Clock, NewId } from '../core/time.ts';
import { enqueueRun } from '../store/runs.ts';
import type { Store } from '../store/store.ts';

export type RunDraft = Omit<NewRun, 'id' | 'createdAt'>;

/** Resolves with the run's id when it is durable. */
export type Enqueue = (draft: RunDraft) => Promise<string>;

export function createEnqueue(deps: { store: Store; clock: Clock; newId: NewId; wake(): void }): Enqueue {
  return async (draft) => {
    const run: NewRun = { ...draft, id: deps.newId('run'), createdAt: deps.clock.now() };
    await deps.store.write(enqueueRun(run));
    deps.wake();
    return run.id;
  };
}
