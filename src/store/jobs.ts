// The table of scheduled jobs as people change it. What the passing of time does with it is in slots.ts.

import type { Alarm, Job, JobOptions, OverlapPolicy } from '../core/job.ts';
import { defineOperation, type Row, type SqlValue, type Steps, sql } from './operation.ts';
import { optional } from './run-moves.ts';
import { insertPassed, type PassedSlots } from './slot-rows.ts';

export type ChangeResult =
  | { kind: 'done' }
  | { kind: 'name_taken' }
  | { kind: 'changed_meanwhile' }
  | { kind: 'not_found' };

const nameKey = (name: string): string => name.toLowerCase();

/** What a person decides about a job and where its schedule stands, in the order of `DECIDED`. */
const decided = (job: Job): SqlValue[] => [
  job.name,
  nameKey(job.name),
  job.schedule,
  job.tz,
  job.anchorAt,
  job.prompt,
  job.overlap,
  JSON.stringify(job.options),
  job.enabled ? 1 : 0,
  job.pausedAt ?? null,
  job.pauseReason ?? null,
  job.nextRunAt ?? null,
  job.expectEveryMs ?? null,
  job.alarmAt ?? null,
  job.updatedAt,
];
const DECIDED = `name name_key schedule tz anchor_at prompt overlap options enabled paused_at pause_reason next_run_at
  expect_every_ms alarm_at updated_at`.split(/\s+/);

export const createJob = defineOperation('jobs.create', function* (job: Job): Steps<ChangeResult> {
  const { changes } = yield* sql(
    `INSERT INTO jobs (${DECIDED.join(', ')}, id, revision, created_at)
     VALUES (${DECIDED.map((_, index) => `$${index + 1}`).join(', ')}, $16, $17, $18)
     ON CONFLICT (name_key) DO NOTHING`,
    ...decided(job),
    job.id,
    job.revision,
    job.createdAt,
  );
  return changes > 0 ? { kind: 'done' } : { kind: 'name_taken' };
});

export interface JobChange {
  /** The job as it is to be; `revision` is the one it was read with. */
  job: Job;
  /** Due times that this change leaves behind, so that none of them vanishes without a row. */
  passed?: PassedSlots;
}

/** Writes everything a person decides, and where the schedule goes on. Counters and last results stay. */
export const changeJob = defineOperation('jobs.change', function* ({ job, passed }: JobChange): Steps<ChangeResult> {
  const rival = yield* sql('SELECT id FROM jobs WHERE name_key = $1 AND id <> $2', nameKey(job.name), job.id);
  if (rival.rows.length > 0) return { kind: 'name_taken' };
  const { changes } = yield* sql(
    `UPDATE jobs SET ${DECIDED.map((column, index) => `${column} = $${index + 1}`).join(', ')}, failures = $18,
       revision = revision + 1 WHERE id = $16 AND revision = $17`,
    ...decided(job),
    job.id,
    job.revision,
    job.failures,
  );
  if (changes === 0) return (yield* loadJob(job.id)) ? { kind: 'changed_meanwhile' } : { kind: 'not_found' };
  if (passed) yield* insertPassed(job.id, passed, job.updatedAt);
  return { kind: 'done' };
});

/** Removes the job and its slots. A run that it started goes on by itself. */
export const removeJob = defineOperation('jobs.remove', function* ({ id }: { id: string }): Steps<boolean> {
  const { changes } = yield* sql('DELETE FROM jobs WHERE id = $1', id);
  yield* sql('DELETE FROM job_slots WHERE job_id = $1', id);
  return changes > 0;
});

/** By id, else by name in any case. */
export const findJob = defineOperation('jobs.find', function* ({ key }: { key: string }): Steps<Job | undefined> {
  const exact = yield* sql('SELECT * FROM jobs WHERE id = $1 OR name_key = $2 LIMIT 2', key, nameKey(key));
  const found = exact.rows.find((row) => row.id === key) ?? exact.rows[0];
  return found && jobOf(found);
});

/** Names like the one given, for a refusal that helps. */
export const jobNamesLike = defineOperation('jobs.names_like', function* ({ key }: { key: string }): Steps<string[]> {
  const { rows } = yield* sql(
    'SELECT name FROM jobs WHERE name_key LIKE $1 ORDER BY name_key LIMIT 5',
    `%${nameKey(key).replace(/[%_]/g, '').slice(0, 12)}%`,
  );
  return rows.map((row) => String(row.name));
});

export interface JobFilter {
  limit: number;
  /** The name of the last job of the page before. */
  after?: string;
}

/** By name. */
export const listJobs = defineOperation('jobs.list', function* ({ limit, after }: JobFilter): Steps<Job[]> {
  const { rows } = yield* sql(
    'SELECT * FROM jobs WHERE name_key > $1 ORDER BY name_key LIMIT $2',
    nameKey(after ?? ''),
    limit,
  );
  return rows.map(jobOf);
});

function* loadJob(id: string): Steps<Job | undefined> {
  const { rows } = yield* sql('SELECT * FROM jobs WHERE id = $1', id);
  return rows[0] && jobOf(rows[0]);
}

export function jobOf(row: Row): Job {
  const text = (column: string): string | undefined => (row[column] === null ? undefined : String(row[column]));
  const number = (column: string): number | undefined => (row[column] === null ? undefined : Number(row[column]));
  return {
    id: String(row.id),
    name: String(row.name),
    schedule: String(row.schedule),
    tz: String(row.tz),
    anchorAt: Number(row.anchor_at),
    prompt: String(row.prompt),
    overlap: row.overlap as OverlapPolicy,
    options: JSON.parse(String(row.options)) as JobOptions,
    enabled: Number(row.enabled) === 1,
    ...optional('pausedAt', number('paused_at')),
    ...optional('pauseReason', text('pause_reason')),
    revision: Number(row.revision),
    ...optional('nextRunAt', number('next_run_at')),
    ...optional('lastRunAt', number('last_run_at')),
    ...optional('lastStatus', text('last_status')),
    ...optional('lastError', text('last_error')),
    ...optional('lastSuccessAt', number('last_success_at')),
    failures: Number(row.failures),
    ...optional('expectEveryMs', number('expect_every_ms')),
    ...optional('alarmAt', number('alarm_at')),
    ...optional('alarm', text('alarm') as Alarm | undefined),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  };
}
