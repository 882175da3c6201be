// What the suites of the store share: two stores on one database, as two processes would have it, and short ways to do
// the usual things with runs.

import type { NewRun, RunState } from '../../src/core/run.ts';
import type { Step } from '../../src/core/step.ts';
import { type Claim, claimRun, failRun, storeAnswer } from '../../src/store/run-claims.ts';
import { cancelRun, enqueueRun, getRun, listRuns } from '../../src/store/runs.ts';
import type { Store } from '../../src/store/store.ts';
import { newRun, type RunChanges } from './new-run.ts';

export const LEASE_MS = 15_000;

export const step = (callId: string): Step => ({ kind: 'tool_started', callId });

/** Filled before the first test. */
export interface TwoStores {
  store: Store;
  other: Store;
}

export type StoreFixture = ReturnType<typeof storeFixture>;

export function storeFixture(stores: TwoStores) {
  const enqueue = async (changes: RunChanges = {}): Promise<NewRun> => {
    const run = newRun(changes);
    await stores.store.write(enqueueRun(run));
    return run;
  };
  const stateOf = async (id: string): Promise<RunState | undefined> => (await stores.store.read(getRun({ id })))?.state;
  const claim = async (now: number, by: Store = stores.store, claimAfter = ''): Promise<Claim> =>
    by.write(claimRun({ owner: 'worker', now, leaseMs: LEASE_MS, after: claimAfter }));
  /** Claims until nothing more may start. */
  const claimAll = async (now: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let cursor = ''; ; ) {
      const { run, after: next } = await claim(now, stores.store, cursor);
      if (!run) return ids;
      ids.push(run.id);
      cursor = next;
    }
  };
  const answer = (id: string, attempt: number, changes: { silent?: boolean; deliveryIds?: string[] } = {}) =>
    stores.store.write(
      storeAnswer({ runId: id, attempt, answer: 'Hello.', silent: false, deliveryIds: [], at: 5000, ...changes }),
    );
  const clear = async (): Promise<void> => {
    for (const state of ['running', 'queued'] as const) {
      const { runs } = await stores.store.read(listRuns({ state, limit: 1000 }));
      for (const { id, attempt } of runs) {
        if (state === 'queued') await stores.store.write(cancelRun({ id, at: 1 }));
        else await stores.store.write(failRun({ runId: id, attempt, error: 'cleared', deliveryIds: [], at: 1 }));
      }
    }
  };
  return { stores, enqueue, stateOf, claim, claimAll, answer, clear };
}
