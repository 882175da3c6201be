// Slots come into being here: what is due, the row that makes a due time happen at most once, and the run it starts.
// The table is the timer. A slot, the next due time of its job and its run are written in one transaction.

import type { Job, Slot, SlotCause } from '../core/job.ts';
import type { NewRun } from '../core/run.ts';
import { insertDelivery, type NewDelivery } from './deliveries.ts';
import { jobOf } from './jobs.ts';
import { defineOperation, type Steps, sql } from './operation.ts';
import { insertRun } from './runs.ts';
import { insertPassed, insertSlot, type NewSlot, type PassedSlots, slotOf } from './slot-rows.ts';

/** Open slots that a job with `overlap: queue` may have; a job that is always too slow must not pile up for ever. */
const MAX_QUEUED = 10;

/** Enabled jobs whose time has come, earliest first; `after` is the last one of the page before. */
export const dueJobs = defineOperation(
  'slots.due_jobs',
  function* (input: { now: number; limit: number; after?: { at: number; id: string } }): Steps<Job[]> {
    const { now, limit, after } = input;
    const { rows } = yield* sql(
      `SELECT * FROM jobs WHERE enabled = 1 AND next_run_at IS NOT NULL AND next_run_at <= $1
       ${after ? 'AND (next_run_at, id) > ($3, $4)' : ''} ORDER BY next_run_at, id LIMIT $2`,
      now,
      limit,
      ...(after ? [after.at, after.id] : []),
    );
    return rows.map(jobOf);
  },
);

/** The next instant at which a job is due or an expectation runs out; undefined when there is none. */
export const nextWakeAt = defineOperation('slots.next_wake', function* (_: Record<never, never>): Steps<
  number | undefined
> {
  const due = yield* sql(
    'SELECT next_run_at AS at FROM jobs WHERE enabled = 1 AND next_run_at IS NOT NULL ORDER BY next_run_at LIMIT 1',
  );
  const alarm = yield* sql(
    'SELECT alarm_at AS at FROM jobs WHERE enabled = 1 AND alarm_at IS NOT NULL ORDER BY alarm_at LIMIT 1',
  );
  const instants = [...due.rows, ...alarm.rows].map((row) => Number(row.at));
  return instants.length > 0 ? Math.min(...instants) : undefined;
});

/** How a slot starts: with its run, or with the job's script, whose output the run needs. */
export type SlotStart = { kind: 'run'; run: NewRun } | { kind: 'script' };

export interface DueSlot {
  dueAt: number;
  late: boolean;
  reason: string;
  note?: string;
  start: SlotStart;
}

export interface Recording {
  jobId: string;
  /** The job as it was read; when either differs by now, somebody else was here and nothing is written. */
  revision: number;
  nextRunAt: number;
  lastRunAt?: number;
  /** Where the schedule goes on; absent when nothing is due any more. */
  thenRunAt?: number;
  passed?: PassedSlots;
  due?: DueSlot;
  /** What people must be told about due times that passed. */
  messages: NewDelivery[];
}

export type RecordingResult = 'started' | 'script' | 'skipped_overlap' | 'passed' | 'already_recorded' | 'stale';

/**
 * Records due times of many jobs, each for itself, in one transaction. `recordings` is a `Recording[]` as JSON: on its way
 * to the writer's thread that costs less than cloning thousands of small objects.
 */
export const recordSlots = defineOperation(
  'slots.record',
  function* (input: { recordings: string; now: number }): Steps<RecordingResult[]> {
    const { now } = input;
    const recordings = JSON.parse(input.recordings) as Recording[];
    const held = new Map<string, string>();
    for (const recording of recordings) {
      const overlap = yield* advance(recording, now);
      if (overlap !== undefined) held.set(recording.jobId, overlap);
    }
    const started = recordings.filter(({ jobId, due }) => due !== undefined && held.has(jobId));
    const open = yield* openSlots(
      started.filter(({ jobId }) => held.get(jobId) !== 'parallel').map(({ jobId }) => jobId),
    );
    const results: RecordingResult[] = [];
    for (const recording of recordings) {
      const overlap = held.get(recording.jobId);
      results.push(overlap === undefined ? 'stale' : yield* recordOne(recording, now, overlap, open));
    }
    return results;
  },
);

/** Compare and set: of two schedulers only one advances the job and writes the slot. Returns the job's overlap rule. */
function* advance({ jobId, revision, nextRunAt, thenRunAt, due }: Recording, now: number): Steps<string | undefined> {
  const { rows } = yield* sql(
    `UPDATE jobs SET next_run_at = $4, last_run_at = COALESCE($5, last_run_at)
     WHERE id = $1 AND revision = $2 AND next_run_at = $3 AND enabled = 1 RETURNING overlap`,
    jobId,
    revision,
    nextRunAt,
    thenRunAt ?? null,
    due ? now : null,
  );
  return rows[0] && String(rows[0].overlap);
}

function* recordOne(recording: Recording, now: number, overlap: string, open: OpenSlots): Steps<RecordingResult> {
  const { jobId, due, passed } = recording;
  if (passed) yield* insertPassed(jobId, passed, now);
  for (const message of recording.messages) yield* insertDelivery(message);
  if (!due) {
    if (passed) yield* sql('UPDATE jobs SET last_status = $2 WHERE id = $1', jobId, passed.state);
    return 'passed';
  }
  const slot = { jobId, ...due, cause: 'schedule', recordedAt: now } as const;
  return yield* startSlot(slot, due.start, overlapReason(open.get(jobId), overlap), recording.lastRunAt);
}

/** Writes the slot and starts it, unless it is blocked. The job's row is held already, with a new time of its last run. */
function* startSlot(
  slot: Omit<NewSlot, 'state'>,
  start: SlotStart,
  blocked: string | undefined,
  lastRunAt: number | undefined,
): Steps<'started' | 'script' | 'skipped_overlap' | 'already_recorded'> {
  if (blocked !== undefined) {
    const written = yield* insertSlot({ ...slot, state: 'skipped_overlap', reason: blocked, endedAt: slot.recordedAt });
    if (!written) return 'already_recorded';
    const set = `UPDATE jobs SET last_status = 'skipped_overlap', last_run_at = $2 WHERE id = $1`;
    yield* sql(set, slot.jobId, lastRunAt ?? null);
    return 'skipped_overlap';
  }
  const state = start.kind === 'run' ? 'running' : 'waiting';
  const runId = start.kind === 'run' ? { runId: start.run.id } : {};
  if (!(yield* insertSlot({ ...slot, ...runId, state }))) return 'already_recorded';
  if (start.kind === 'script') return 'script';
  yield* insertRun(start.run);
  return 'started';
}

type OpenSlots = ReadonlyMap<string, readonly { dueAt: number; runId: string | undefined }[]>;

/**
 * The slots that are in the way of another one, by job. A run that has its answer is not in the way any more: its
 * message may have to wait for a target for hours.
 */
function* openSlots(jobIds: readonly string[]): Steps<OpenSlots> {
  const open = new Map<string, { dueAt: number; runId: string | undefined }[]>();
  if (jobIds.length === 0) return open;
  const { rows } = yield* sql(
    `SELECT s.job_id, s.due_at, s.run_id FROM job_slots s LEFT JOIN runs ON runs.id = s.run_id
     WHERE s.job_id IN (${jobIds.map((_, index) => `$${index + 1}`).join(', ')})
       AND s.state IN ('waiting', 'scripting', 'running') AND (s.run_id IS NULL OR runs.state IN ('queued', 'running'))
     ORDER BY s.job_id, s.due_at`,
    ...jobIds,
  );
  for (const row of rows) {
    const jobId = String(row.job_id);
    const slots = open.get(jobId) ?? [];
    slots.push({ dueAt: Number(row.due_at), runId: row.run_id === null ? undefined : String(row.run_id) });
    open.set(jobId, slots);
  }
  return open;
}

/** Why the job cannot start another slot now, or undefined. */
function overlapReason(open: ReturnType<OpenSlots['get']>, overlap: string): string | undefined {
  const first = open?.[0];
  if (!first || overlap === 'parallel') return undefined;
  if (overlap === 'queue') {
    if (open.length < MAX_QUEUED) return undefined;
    return `${open.length} earlier due times of this job were still waiting; its queue takes no more.`;
  }
  const run = first.runId === undefined ? 'its script' : `run ${first.runId}`;
  return `The due time ${new Date(first.dueAt).toISOString()} had not ended yet (${run}), and overlapping runs are skipped.`;
}

export interface Firing {
  jobId: string;
  revision: number;
  at: number;
  cause: Exclude<SlotCause, 'schedule'>;
  /** The event behind it: one event starts at most one slot of a job. */
  causeRef?: string;
  context?: string;
  reason: string;
  start: SlotStart;
}

export type FiringResult =
  | { kind: 'started' | 'script' | 'skipped_overlap' | 'paused' | 'already_recorded'; slot: Slot }
  /** The job was changed or removed since it was read. */
  | { kind: 'stale' };

/** Starts a job now, by the same rules. A person may start a paused job; an event may not. */
export const fireSlot = defineOperation('slots.fire', function* (firing: Firing): Steps<FiringResult> {
  const { jobId, cause, causeRef } = firing;
  const { rows } = yield* sql(
    'UPDATE jobs SET updated_at = updated_at WHERE id = $1 AND revision = $2 RETURNING overlap, enabled, last_run_at',
    jobId,
    firing.revision,
  );
  const job = rows[0];
  if (!job) return { kind: 'stale' };
  if (causeRef !== undefined) {
    const before = yield* sql('SELECT * FROM job_slots WHERE job_id = $1 AND cause_ref = $2', jobId, causeRef);
    if (before.rows[0]) return { kind: 'already_recorded', slot: slotOf(before.rows[0]) };
  }
  const dueAt = yield* freeInstant(jobId, firing.at);
  const slot = {
    jobId,
    dueAt,
    cause,
    ...(causeRef !== undefined && { causeRef }),
    ...(firing.context !== undefined && { context: firing.context }),
    late: false,
    reason: firing.reason,
    recordedAt: firing.at,
  };
  if (cause === 'webhook' && Number(job.enabled) !== 1) {
    const reason = 'An event asked for this job while it was paused.';
    yield* insertSlot({ ...slot, state: 'paused', reason, endedAt: firing.at });
    return { kind: 'paused', slot: yield* loadSlot(jobId, dueAt) };
  }
  const open = yield* openSlots([jobId]);
  const blocked = overlapReason(open.get(jobId), String(job.overlap));
  const lastRunAt = job.last_run_at === null ? undefined : Number(job.last_run_at);
  const kind = yield* startSlot(slot, startAt(firing.start, dueAt), blocked, lastRunAt);
  if (kind !== 'skipped_overlap') yield* sql('UPDATE jobs SET last_run_at = $2 WHERE id = $1', jobId, firing.at);
  return { kind, slot: yield* loadSlot(jobId, dueAt) };
});

/** The run points back at its slot, whose instant is only known here. */
const startAt = (start: SlotStart, dueAt: number): SlotStart =>
  start.kind === 'run'
    ? { kind: 'run', run: { ...start.run, source: { ...start.run.source, ref: String(dueAt) } } }
    : start;

/** Newest first. */
export const slotsOf = defineOperation(
  'slots.list',
  function* (input: { jobId: string; limit: number; before?: number }): Steps<Slot[]> {
    const { rows } = yield* sql(
      'SELECT * FROM job_slots WHERE job_id = $1 AND due_at < $2 ORDER BY due_at DESC LIMIT $3',
      input.jobId,
      input.before ?? Number.MAX_SAFE_INTEGER,
      input.limit,
    );
    return rows.map(slotOf);
  },
);

/** The last slot that begins at or before the instant, and the first after it. */
export const slotsAround = defineOperation('slots.around', function* (input: { jobId: string; at: number }): Steps<{
  before?: Slot;
  after?: Slot;
}> {
  const before = yield* sql(
    'SELECT * FROM job_slots WHERE job_id = $1 AND due_at <= $2 ORDER BY due_at DESC LIMIT 1',
    input.jobId,
    input.at,
  );
  const after = yield* sql(
    'SELECT * FROM job_slots WHERE job_id = $1 AND due_at > $2 ORDER BY due_at LIMIT 1',
    input.jobId,
    input.at,
  );
  return {
    ...(before.rows[0] && { before: slotOf(before.rows[0]) }),
    ...(after.rows[0] && { after: slotOf(after.rows[0]) }),
  };
});

/** Removes slots that ended before the instant; returns how many. */
export const pruneSlots = defineOperation(
  'slots.prune',
  function* (input: { before: number; limit: number }): Steps<number> {
    const { rows } = yield* sql(
      'SELECT job_id, due_at FROM job_slots WHERE ended_at IS NOT NULL AND ended_at < $1 ORDER BY ended_at LIMIT $2',
      input.before,
      input.limit,
    );
    for (const row of rows) {
      yield* sql('DELETE FROM job_slots WHERE job_id = $1 AND due_at = $2', row.job_id ?? null, row.due_at ?? null);
    }
    return rows.length;
  },
);

function* loadSlot(jobId: string, dueAt: number): Steps<Slot> {
  const { rows } = yield* sql('SELECT * FROM job_slots WHERE job_id = $1 AND due_at = $2', jobId, dueAt);
  if (!rows[0]) throw new Error(`Slot ${jobId} ${dueAt} was just written and is not there.`);
  return slotOf(rows[0]);
}

/** Due times of schedules fall on whole seconds; what people and events start never does, so that neither blocks the other. */
function* freeInstant(jobId: string, at: number): Steps<number> {
  for (let instant = at; ; instant += 1) {
    if (instant % 1000 === 0) continue;
    const { rows } = yield* sql('SELECT 1 AS one FROM job_slots WHERE job_id = $1 AND due_at = $2', jobId, instant);
    if (rows.length === 0) return instant;
  }
}
