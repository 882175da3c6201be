// Runs the scripts that slots wait for, a few at a time, and turns each end into a run, a gate or a failure. A script is
// started at most once per slot: the claim is stored first, and a slot whose process died is reported, not repeated.

import { randomBytes } from 'node:crypto';
import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import type { Clock, NewId } from '../core/time.ts';
import {
  claimScripts,
  finishScript,
  renewScript,
  type ScriptEnd,
  type ScriptEnding,
  type ScriptTask,
  scriptWork,
} from '../store/slot-scripts.ts';
import type { Store } from '../store/store.ts';
import { addressesOf, runOf } from './fire.ts';
import type { ScriptOutcome } from './script.ts';
import { showInstant } from './zone.ts';

export interface ScriptsDeps {
  store: Store;
  clock: Clock;
  newId: NewId;
  log: Logger;
  /** One run of the job's script; never throws. */
  run(task: ScriptTask, signal: AbortSignal): Promise<ScriptOutcome>;
  onRuns(): void;
  onMessages(): void;
}

export interface Scripts {
  /** Starts what may start (or only that slot) and ends what was lost. Resolves when that is stored; the scripts go on. */
  look(only?: { jobId: string; dueAt: number }): Promise<void>;
  /** Resolves when none is running. */
  idle(): Promise<void>;
  /** Ends the running scripts and records that. */
  stop(): Promise<void>;
}

const CONCURRENCY = 8;
const LEASE_MS = 60_000;
const STORE_RETRY_MS = 1000;
const LOST =
  'The process that ran its script ended before the script did. What the script did is unknown, so it is not started again by itself.';

export function createScripts(deps: ScriptsDeps): Scripts {
  const { store, clock, log } = deps;
  const owner = deps.newId('scripts');
  const stopped = new AbortController();
  const running = new Set<Promise<void>>();

  async function look(only?: { jobId: string; dueAt: number }): Promise<void> {
    const { lost, waiting } = await store.read(scriptWork({ now: clock.now(), owner }));
    for (const task of lost) await endLost(task);
    const limit = CONCURRENCY - running.size;
    if (!waiting || limit <= 0 || stopped.signal.aborted) return;
    const tasks = await store.write(
      claimScripts({ owner, now: clock.now(), leaseMs: LEASE_MS, limit, ...(only && { only }) }),
    );
    for (const task of tasks) {
      const done = carryOut(task, only !== undefined).finally(() => running.delete(done));
      running.add(done);
    }
  }

  async function carryOut(task: ScriptTask, alone: boolean): Promise<void> {
    const { jobId, dueAt } = task.slot;
    const lost = new AbortController();
    const ended = new AbortController();
    void keepLease(task, lost, ended.signal);
    const outcome = await deps.run(task, AbortSignal.any([stopped.signal, lost.signal]));
    ended.abort();
    if (lost.signal.aborted) return log.warn('A script lost its slot', { job: jobId, due: dueAt });
    await finish(task, endOf(task, outcome), { owner });
    // A place is free, and a queued slot of the same job may follow.
    if (!alone && !stopped.signal.aborted) await look().catch((error: unknown) => log.warn(messageOf(error)));
  }

  function endOf({ job, slot }: ScriptTask, outcome: ScriptOutcome): ScriptEnd {
    if (outcome.kind === 'gated') return { kind: 'gated', reason: 'The script said {"wake": false}: nothing to do.' };
    if (outcome.kind === 'failed') return failure({ job, slot }, outcome.reason);
    const run = runOf(job, { ...slot, scriptOutput: outcome.output }, deps.newId('run'), clock.now());
    return { kind: 'run', run };
  }

  async function finish(task: ScriptTask, end: ScriptEnd, holder: ScriptEnding['holder']): Promise<void> {
    const { jobId, dueAt } = task.slot;
    const addresses = addressesOf(task.job);
    const uniqueId = randomBytes(4).toString('hex');
    const ending: ScriptEnding = {
      jobId,
      jobName: task.job.name,
      dueAt,
      holder,
      end,
      addresses,
      uniqueId,
      at: clock.now(),
    };
    for (;;) {
      try {
        const held = await store.write(finishScript(ending));
        if (held) log.info('A script has ended', { job: jobId, due: new Date(dueAt).toISOString(), end: end.kind });
        break;
      } catch (error) {
        // The slot stays ours until this is stored or the process ends; then it counts as lost.
        log.warn('The end of a script could not be stored; trying again', { error: messageOf(error) });
        if (stopped.signal.aborted) return;
        await clock.sleep(STORE_RETRY_MS, stopped.signal);
      }
    }
    if (end.kind === 'run') deps.onRuns();
    else deps.onMessages();
  }

  async function keepLease(task: ScriptTask, lost: AbortController, ended: AbortSignal): Promise<void> {
    const { jobId, dueAt } = task.slot;
    for (;;) {
      await clock.sleep(LEASE_MS / 3, ended);
      if (ended.aborted) return;
      const until = clock.now() + LEASE_MS;
      const held = await store.write(renewScript({ jobId, dueAt, owner, until })).catch((error: unknown) => {
        log.warn('The lease of a script could not be renewed', { error: messageOf(error) });
        return true;
      });
      if (!held) return lost.abort();
    }
  }

  async function endLost(task: ScriptTask): Promise<void> {
    log.error('A script was lost with its process', { job: task.job.id, due: task.slot.dueAt });
    await finish(task, failure(task, LOST), { leaseOverBy: clock.now() });
  }

  async function idle(): Promise<void> {
    while (running.size > 0) await Promise.all(running);
  }

  return {
    look,
    idle,
    stop: async () => {
      stopped.abort();
      await idle();
    },
  };
}

function failure({ job, slot }: Pick<ScriptTask, 'job' | 'slot'>, reason: string): ScriptEnd {
  const report = `Job "${job.name}" (due ${showInstant(job.tz, slot.dueAt)}): its script failed. ${reason}\n\nDetails: \`svc cron why ${job.id}\``;
  return { kind: 'failed', reason: `The script failed. ${reason}`, report };
}
