// Takes runs from the queue and has them carried out, as many at once as allowed. It knows nothing of agents: what a run
// does is the function it was given. Any number of workers may share one store.

import { messageOf } from '../core/errors.ts';
import { claimRun } from '../store/run-claims.ts';
import { type Attempt, type AttemptDeps, LEASE_MS, startAttempt } from './attempt.ts';

export interface WorkerOptions extends Omit<AttemptDeps, 'leaseMs' | 'onMessages'> {
  /** Runs at the same time; 0 leaves all of them queued. */
  concurrency: number;
  leaseMs?: number;
  onMessages?(): void;
}

export interface Worker {
  start(): void;
  /** Something was queued in this process: look at once. */
  wake(): void;
  /** Interrupts what is running, gives it back to the queue and resolves; at the latest when the signal aborts. */
  stop(signal?: AbortSignal): Promise<void>;
}

/** How soon the work of other processes is noticed. */
const POLL_MS = 1000;
/** Leaves the parts that stop after it some of the ten seconds. */
const STOP_MS = 6500;

export function createWorker(options: WorkerOptions): Worker {
  const { store, clock, log, concurrency, leaseMs = LEASE_MS } = options;
  const deps: AttemptDeps = { ...options, leaseMs, onMessages: () => options.onMessages?.() };
  const owner = options.newId('worker');
  const attempts = new Map<string, Attempt>();
  const stopped = new AbortController();
  let nap = new AbortController();
  let after = '';
  let inTrouble = false;
  let loop: Promise<void> = Promise.resolve();

  const wake = (): void => {
    // Aborting makes an error with a stack even when it changes nothing, and every accepted event comes by here.
    if (!nap.signal.aborted) nap.abort();
  };

  async function work(): Promise<void> {
    while (!stopped.signal.aborted) {
      // Made before looking: what is queued while the look is under way ends the nap that follows.
      nap = new AbortController();
      const full = attempts.size >= concurrency;
      if (!full && (await claimOne())) continue;
      if (!stopped.signal.aborted) await rest(full);
    }
  }

  /** Until woken; with free places no longer than a poll. */
  function rest(full: boolean): Promise<void> {
    if (nap.signal.aborted) return Promise.resolve();
    if (!full) return clock.sleep(POLL_MS, nap.signal);
    return new Promise((resolve) => nap.signal.addEventListener('abort', () => resolve(), { once: true }));
  }

  async function claimOne(): Promise<boolean> {
    try {
      const held = [...attempts.keys()];
      const claim = await store.write(claimRun({ owner, now: clock.now(), leaseMs, after, held }));
      inTrouble = false;
      after = claim.after;
      if (claim.run === undefined) return false;
      const { id } = claim.run;
      const attempt = startAttempt(claim.run, claim.takeovers, deps);
      attempts.set(id, attempt);
      void attempt.done.then(() => {
        attempts.delete(id);
        wake();
      });
      // Claimed while the stop was asked for: it goes back like the others.
      if (stopped.signal.aborted) attempt.stop();
      return true;
    } catch (error) {
      // Said once: a store that is away for an hour would fill the log.
      if (!inTrouble) log.error('The queue of runs cannot be read', { error: messageOf(error) });
      inTrouble = true;
      return false;
    }
  }

  return {
    start: () => {
      if (concurrency === 0) log.info('Runs are only queued here: runs.concurrency is 0');
      else loop = work();
    },
    wake,
    stop: async (signal) => {
      stopped.abort();
      wake();
      for (const attempt of attempts.values()) attempt.stop();
      await loop;
      const left = new AbortController();
      const deadline = clock.sleep(STOP_MS, AbortSignal.any([left.signal, ...(signal ? [signal] : [])]));
      await Promise.race([Promise.all([...attempts.values()].map(({ done }) => done)), deadline]);
      left.abort();
      await Promise.all([...attempts.values()].map((attempt) => attempt.abandon()));
    },
  };
}
