// A small house for tests of jobs: a store, a clock that tests turn, the scheduler, and a worker that answers at once.

import { silentLog } from '../../src/core/log.ts';
import type { Clock } from '../../src/core/time.ts';
import { raiseAlarms } from '../../src/jobs/expectations.ts';
import { createJobs, type Jobs } from '../../src/jobs/jobs.ts';
import { createScheduler, type Scheduler } from '../../src/jobs/scheduler.ts';
import type { ScriptOutcome } from '../../src/jobs/script.ts';
import { createScripts, type Scripts } from '../../src/jobs/scripts.ts';
import { claimRun, failRun, storeAnswer } from '../../src/store/run-claims.ts';
import type { ScriptTask } from '../../src/store/slot-scripts.ts';
import type { Store } from '../../src/store/store.ts';
import { createNewId } from '../../src/system/clock.ts';

export interface VirtualClock extends Clock {
  /** Sets the wall clock; the monotonic clock does not follow. */
  set(at: number): void;
  /** Lets time pass on both clocks. */
  pass(ms: number): void;
}

export function virtualClock(start: number): VirtualClock {
  let [wall, monotonic] = [start, 0];
  return {
    now: () => wall,
    monotonic: () => monotonic,
    // Sleepers wake at once when told to stop, and otherwise never: tests say what happens next.
    sleep: (_ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) resolve();
        else signal?.addEventListener('abort', () => resolve(), { once: true });
      }),
    set: (at) => {
      wall = at;
    },
    pass: (ms) => {
      wall += ms;
      monotonic += ms;
    },
  };
}

export interface JobHouse {
  jobs: Jobs;
  scheduler: Scheduler;
  scripts: Scripts;
  clock: VirtualClock;
  store: Store;
  /** Claims every run that may start and ends it. Returns how many. */
  answerAll(outcome?: RunOutcome): Promise<number>;
  /** A scheduler as it is after a restart: nothing remembered. */
  restart(): Scheduler;
}

export type RunOutcome = { answer: string; silent?: boolean } | { error: string };

export interface JobHouseOptions {
  store: Store;
  start: number;
  scriptsFolder?: string;
  runScript?(task: ScriptTask, signal: AbortSignal): Promise<ScriptOutcome>;
}

export function jobHouse({ store, start, scriptsFolder = '/nonexistent', runScript }: JobHouseOptions): JobHouse {
  const clock = virtualClock(start);
  const newId = createNewId(clock);
  const nothing = (): void => {};
  const scripts = createScripts({
    store,
    clock,
    newId,
    log: silentLog,
    run: runScript ?? (async () => ({ kind: 'printed', output: 'printed' })),
    onRuns: nothing,
    onMessages: nothing,
  });
  const restart = (): Scheduler =>
    createScheduler({
      store,
      clock,
      newId,
      log: silentLog,
      onRuns: nothing,
      onMessages: nothing,
      onScripts: () => scripts.look(),
      onAlarms: (now) => raiseAlarms({ store, newId, alarmAddresses: undefined, onMessages: nothing }, now),
      keepMs: 365 * 86_400_000,
    });
  const jobs = createJobs({
    store,
    clock,
    newId,
    zone: 'UTC',
    scripts: scriptsFolder,
    skillProblem: async (name) => (name === 'known' ? undefined : `There is no skill ${name}.`),
    toolsetProblem: async (name) => (name === 'nosuch' ? 'There is no tool or toolset nosuch.' : undefined),
    addressState: async ({ target }) => {
      if (target === 'off') return { kind: 'not_set_up', reason: 'off is not enabled; run svc platforms setup off.' };
      return target === 'nowhere' ? { kind: 'wrong', reason: 'There is no target "nowhere".' } : { kind: 'ready' };
    },
    onChange: nothing,
    onRuns: nothing,
  });

  async function answerAll(outcome: RunOutcome = { answer: 'done' }): Promise<number> {
    let after = '';
    for (let count = 0; ; count += 1) {
      const now = clock.now();
      const claim = await store.write(claimRun({ owner: 'w', now, leaseMs: 60_000, after, held: [] }));
      after = claim.after;
      if (!claim.run) return count;
      const held = { runId: claim.run.id, attempt: claim.run.attempt, at: now };
      const deliveryIds = claim.run.addresses.map(() => newId('dlv'));
      if ('error' in outcome) {
        await store.write(failRun({ ...held, error: outcome.error, report: outcome.error, deliveryIds }));
      } else {
        await store.write(
          storeAnswer({ ...held, answer: outcome.answer, silent: outcome.silent ?? false, deliveryIds }),
        );
      }
    }
  }

  return { jobs, scheduler: restart(), scripts, clock, store, answerAll, restart };
}
