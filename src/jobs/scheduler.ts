// The scheduler: records what is due, raises alarms, and sleeps until the next instant that the table names, but never long:
// the clock may jump, and other processes change the table. It holds no state that a crash could lose.

import { setImmediate as turn } from 'node:timers/promises';
import { messageOf } from '../core/errors.ts';
import type { Job } from '../core/job.ts';
import type { Logger } from '../core/log.ts';
import type { Clock, NewId } from '../core/time.ts';
import type { NewDelivery } from '../store/deliveries.ts';
import { changeJob } from '../store/jobs.ts';
import { dueJobs, nextWakeAt, pruneSlots, type Recording, type RecordingResult, recordSlots } from '../store/slots.ts';
import type { Store } from '../store/store.ts';
import { addressesOf, startOf } from './fire.ts';
import { planSlots } from './plan.ts';
import { readSchedule } from './schedule.ts';
import { showSpan } from './span.ts';
import { showInstant } from './zone.ts';

export interface SchedulerDeps {
  store: Store;
  clock: Clock;
  newId: NewId;
  log: Logger;
  /** Runs were queued. */
  onRuns(): void;
  /** Messages want to be sent. */
  onMessages(): void;
  /** Slots wait for their script; also called at every look, because processes die. */
  onScripts(): Promise<void>;
  /** Raises the alarms that are due. */
  onAlarms(now: number): Promise<void>;
  /** How long ended slots are kept. */
  keepMs: number;
}

export interface Scheduler {
  start(): void;
  /** A job was made or changed in this process. */
  wake(): void;
  /** Records everything that is due now; returns how many due times that were. */
  tick(): Promise<number>;
  stop(): Promise<void>;
}

/** The longest sleep: how soon a jump of the clock and the changes of other processes are noticed. */
const MAX_SLEEP_MS = 2000;
const RETRY_MS = 2000;
/** Small transactions, so that webhooks are stored in between. */
const BATCH = 100;
const PRUNE_EVERY_MS = 3_600_000;
const PRUNE_BATCH = 1000;
/** When something is due and yet nothing could be recorded, another process is at it. */
const CONTENDED_MS = 100;
/** The wall clock and the monotonic clock may drift apart by this much without a word. */
const JUMP_MS = 2000;

const NOT_RUNNING = 'The gateway was not running at that time.';
const TOO_BUSY = 'The gateway did not get to it in time.';

export function createScheduler(deps: SchedulerDeps): Scheduler {
  const { store, clock, log } = deps;
  const stopped = new AbortController();
  let nap = new AbortController();
  let delay = NOT_RUNNING;
  let prunedAt = Number.NEGATIVE_INFINITY;
  let inTrouble = false;
  let loop: Promise<void> = Promise.resolve();

  async function tick(): Promise<number> {
    const recorded = await recordDue();
    const now = clock.now();
    await deps.onAlarms(now);
    if (now - prunedAt > PRUNE_EVERY_MS) {
      const pruned = await store.write(pruneSlots({ before: now - deps.keepMs, limit: PRUNE_BATCH }));
      // With more left, the next look goes on: nobody has to wait for a long transaction.
      if (pruned < PRUNE_BATCH) prunedAt = now;
    }
    delay = TOO_BUSY;
    return recorded;
  }

  /** One batch is prepared while the one before is being stored. What another process takes meanwhile is left to it. */
  async function recordDue(): Promise<number> {
    let storing: Promise<number> = Promise.resolve(0);
    let recorded = 0;
    let after: { at: number; id: string } | undefined;
    try {
      while (!stopped.signal.aborted) {
        // Read anew for each batch: after a long outage, recording what was missed takes its time.
        const now = clock.now();
        const jobs = await store.read(dueJobs({ now, limit: BATCH, ...(after && { after }) }));
        const last = jobs.at(-1);
        if (!last) break;
        after = { at: last.nextRunAt ?? now, id: last.id };
        const prepared = jobs.map((job) => ({ job, recording: recordingOf(job, now, delay, deps.newId) }));
        const before = storing;
        storing = before.then(() => record(prepared, now));
        recorded += await before;
        // The batch is on its way to the writer only after this turn, and others want theirs too.
        await turn();
      }
    } finally {
      recorded += await storing;
    }
    return recorded;
  }

  async function record(
    prepared: readonly { job: Job; recording: Recording | string }[],
    now: number,
  ): Promise<number> {
    const recordings: Recording[] = [];
    for (const { job, recording } of prepared) {
      if (typeof recording === 'string') await pauseUnreadable(job, recording, now);
      else recordings.push(recording);
    }
    const results = await store.write(recordSlots({ recordings: JSON.stringify(recordings), now }));
    if (results.includes('started')) deps.onRuns();
    if (recordings.some(({ messages }) => messages.length > 0)) deps.onMessages();
    for (const [index, result] of results.entries()) logResult(recordings[index], result);
    return results.filter((result) => result !== 'stale').length;
  }

  function logResult(recording: Recording | undefined, result: RecordingResult): void {
    if (!recording || result === 'stale') return;
    const { jobId, passed, due } = recording;
    if (passed)
      log.warn('Due times passed', { job: jobId, state: passed.state, count: passed.instants, reason: passed.reason });
    if (due) log.debug('A job is due', { job: jobId, due: new Date(due.dueAt).toISOString(), result });
  }

  /** One job that cannot be read must not hold up the others, nor be looked at again and again. */
  async function pauseUnreadable(job: Job, reason: string, now: number): Promise<void> {
    log.error('A job was paused: its schedule cannot be read', { job: job.id, reason });
    const paused: Job = { ...job, enabled: false, pausedAt: now, pauseReason: reason, updatedAt: now };
    await store.write(changeJob({ job: paused }));
  }

  async function work(): Promise<void> {
    while (!stopped.signal.aborted) {
      // Made before looking: a change while the look is under way ends the sleep that follows.
      nap = new AbortController();
      let sleepMs = RETRY_MS;
      try {
        const recorded = await tick();
        await deps.onScripts();
        const next = await store.read(nextWakeAt({}));
        const awayMs = Math.min((next ?? Number.POSITIVE_INFINITY) - clock.now(), MAX_SLEEP_MS);
        sleepMs = awayMs > 0 ? awayMs : recorded > 0 ? 0 : CONTENDED_MS;
        inTrouble = false;
      } catch (error) {
        if (!inTrouble) log.error('Jobs cannot be looked up; trying again', { error: messageOf(error) });
        inTrouble = true;
      }
      if (stopped.signal.aborted) return;
      await sleep(sleepMs);
    }
  }

  async function sleep(ms: number): Promise<void> {
    const [wall, monotonic] = [clock.now(), clock.monotonic()];
    await clock.sleep(ms, nap.signal);
    const jump = clock.now() - wall - (clock.monotonic() - monotonic);
    if (Math.abs(jump) <= JUMP_MS) return;
    const way = jump > 0 ? 'forward' : 'back';
    delay = `The clock went ${way} by ${showSpan(Math.abs(jump))} (or the machine slept).`;
    log.warn(`The clock went ${way}`, { by: showSpan(Math.abs(jump)) });
  }

  return {
    tick,
    start: () => {
      loop = work();
    },
    wake: () => nap.abort(),
    stop: async () => {
      stopped.abort();
      nap.abort();
      await loop;
    },
  };
}

/** What is to be written for a due job, or why its schedule cannot be read any more. */
function recordingOf(job: Job, now: number, delay: string, newId: NewId): Recording | string {
  const { id: jobId, revision, nextRunAt = now, options } = job;
  const reading = readSchedule(job.schedule, job.tz, job.anchorAt);
  if (reading.kind === 'invalid') return `${reading.reason} ${reading.help}`;
  const { schedule } = reading;
  const plan = planSlots({ schedule, nextRunAt, graceMs: options.graceMs, now, delay });
  const messages: NewDelivery[] = [];
  if (schedule.kind === 'once' && plan.passed?.state === 'missed') {
    // Nothing will come of it later, so somebody has to hear of it now.
    const text = `Job "${job.name}" was due at ${showInstant(job.tz, nextRunAt)} and was missed. ${plan.passed.reason}`;
    for (const address of addressesOf(job)) {
      messages.push({ id: newId('dlv'), source: job.name, address, text, createdAt: now });
    }
  }
  return {
    jobId,
    revision,
    nextRunAt,
    ...(job.lastRunAt !== undefined && { lastRunAt: job.lastRunAt }),
    ...(plan.thenRunAt !== undefined && { thenRunAt: plan.thenRunAt }),
    ...(plan.passed && { passed: plan.passed }),
    ...(plan.due && { due: { ...plan.due, start: startOf(job, plan.due, newId('run'), now) } }),
    messages,
  };
}
