// What the coming days will look like: the real scheduler, store operations and queue, on a clock that jumps from event to
// event, over a store that is thrown away. Runs take a given time and always succeed; scripts are not started.

import type { Job, Slot } from '../core/job.ts';
import { silentLog } from '../core/log.ts';
import type { Run } from '../core/run.ts';
import type { Clock } from '../core/time.ts';
import { createJob } from '../store/jobs.ts';
import { claimRun, storeAnswer } from '../store/run-claims.ts';
import { nextWakeAt, slotsOf } from '../store/slots.ts';
import { openMemoryStore } from '../store/sqlite/memory.ts';
import type { Store } from '../store/store.ts';
import { createNewId } from '../system/clock.ts';
import { nextDue, readSchedule } from './schedule.ts';
import { createScheduler } from './scheduler.ts';
import { wallAt } from './zone.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** More than this would take minutes; the result says that it was cut. */
const MAX_EVENTS = 100_000;
const ENDLESS_LEASE_MS = 1000 * DAY_MS;

export interface SimulationInput {
  jobs: readonly Job[];
  from: number;
  days: number;
  /** How long each run takes. */
  runMs: number;
  /** Runs at the same time. */
  workers: number;
}

export interface Simulation {
  from: number;
  until: number;
  /** True when there was too much to simulate; `until` tells how far it came. */
  cut: boolean;
  jobs: { job: Job; slots: Slot[]; skipped: number }[];
  /** Runs started per hour of the day, in the zone of each job. */
  perHour: number[];
  busiest?: { hourAt: number; runs: number };
  /** The longest time between a due time and the start of its run. */
  longestWaitMs: number;
}

export async function simulate(input: SimulationInput): Promise<Simulation> {
  const store = openMemoryStore();
  try {
    return await play(input, store);
  } finally {
    await store.close();
  }
}

async function play(input: SimulationInput, store: Store): Promise<Simulation> {
  let now = input.from;
  const end = input.from + input.days * DAY_MS;
  const clock: Clock = { now: () => now, monotonic: () => now, sleep: async () => {} };
  const newId = createNewId(clock);
  const scheduler = createScheduler({
    store,
    clock,
    newId,
    log: silentLog,
    onRuns() {},
    onMessages() {},
    onScripts: async () => {},
    onAlarms: async () => {},
    keepMs: Number.MAX_SAFE_INTEGER,
  });
  for (const job of input.jobs) await enter(store, job, now);
  const started = new Map<string, number>();
  const running: { run: Run; endsAt: number }[] = [];
  let events = 0;
  for (; events < MAX_EVENTS; events += 1) {
    await endRuns(store, running, now);
    await scheduler.tick();
    for (
      let run = await claim(store, now, running, input.workers);
      run;
      run = await claim(store, now, running, input.workers)
    ) {
      running.push({ run, endsAt: now + input.runMs });
      started.set(run.id, now);
    }
    const next = Math.min((await store.read(nextWakeAt({}))) ?? end, ...running.map(({ endsAt }) => endsAt));
    if (next >= end) break;
    now = next;
  }
  const cut = events === MAX_EVENTS;
  return { ...(await summary(store, input.jobs, started)), from: input.from, until: cut ? now : end, cut };
}

/** A copy that starts now, without a script and without anybody to write to. */
async function enter(store: Store, job: Job, now: number): Promise<void> {
  const reading = readSchedule(job.schedule, job.tz, job.anchorAt);
  const next = reading.kind === 'schedule' ? nextDue(reading.schedule, now) : undefined;
  const { script: _, ...options } = job.options;
  const { nextRunAt: __, alarmAt: ___, ...rest } = job;
  await store.write(createJob({ ...rest, options, enabled: true, ...(next && { nextRunAt: next.at }) }));
}

async function claim(
  store: Store,
  now: number,
  running: readonly unknown[],
  workers: number,
): Promise<Run | undefined> {
  if (running.length >= workers) return undefined;
  const { run } = await store.write(claimRun({ owner: 'simulation', now, leaseMs: ENDLESS_LEASE_MS, after: '' }));
  return run;
}

async function endRuns(store: Store, running: { run: Run; endsAt: number }[], now: number): Promise<void> {
  for (const ended of running.filter(({ endsAt }) => endsAt <= now)) {
    const { id: runId, attempt } = ended.run;
    await store.write(storeAnswer({ runId, attempt, answer: '', silent: true, deliveryIds: [], at: now }));
    running.splice(running.indexOf(ended), 1);
  }
}

async function summary(
  store: Store,
  jobs: readonly Job[],
  started: ReadonlyMap<string, number>,
): Promise<Pick<Simulation, 'jobs' | 'perHour' | 'busiest' | 'longestWaitMs'>> {
  const perHour = Array.from({ length: 24 }, () => 0);
  const hours = new Map<number, number>();
  let longestWaitMs = 0;
  const shown: Simulation['jobs'] = [];
  for (const job of jobs) {
    const slots = (await store.read(slotsOf({ jobId: job.id, limit: MAX_EVENTS }))).reverse();
    for (const { dueAt, runId } of slots) {
      const at = runId === undefined ? undefined : started.get(runId);
      if (at === undefined) continue;
      longestWaitMs = Math.max(longestWaitMs, at - dueAt);
      const hourOfDay = Math.floor((((wallAt(job.tz, at) % DAY_MS) + DAY_MS) % DAY_MS) / HOUR_MS);
      perHour[hourOfDay] = (perHour[hourOfDay] ?? 0) + 1;
      const hourAt = Math.floor(at / HOUR_MS) * HOUR_MS;
      hours.set(hourAt, (hours.get(hourAt) ?? 0) + 1);
    }
    shown.push({ job, slots, skipped: slots.filter(({ state }) => state === 'skipped_overlap').length });
  }
  const [busiest] = [...hours].sort(([, a], [, b]) => b - a);
  return {
    jobs: shown,
    perHour,
    ...(busiest && { busiest: { hourAt: busiest[0], runs: busiest[1] } }),
    longestWaitMs,
  };
}
