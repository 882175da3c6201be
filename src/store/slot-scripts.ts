// The script phase of a slot. A script may have effects that must not be repeated, so it is started at most once per slot:
// `scripting` is written before it starts, and a slot whose process died in that phase ends as failed, with a message.

import type { Address } from '../core/address.ts';
import type { Job, Slot } from '../core/job.ts';
import type { NewRun } from '../core/run.ts';
import { endSlot, type SlotEnd, tell } from './job-outcome.ts';
import { jobOf } from './jobs.ts';
import { defineOperation, type Steps, sql } from './operation.ts';
import { insertRun } from './runs.ts';
import { slotOf } from './slot-rows.ts';

export interface ScriptClaim {
  owner: string;
  now: number;
  leaseMs: number;
  limit: number;
  /** Only this slot. */
  only?: { jobId: string; dueAt: number };
}

export interface ScriptTask {
  job: Job;
  slot: Slot;
}

/** Takes waiting slots whose script may start now; unless a job runs in parallel, its earlier slots come first. Slots of a job that was paused meanwhile end here. */
export const claimScripts = defineOperation('slots.claim_scripts', function* (claim: ScriptClaim): Steps<ScriptTask[]> {
  const { only } = claim;
  const { rows } = yield* sql(
    `SELECT s.job_id, s.due_at FROM job_slots s JOIN jobs ON jobs.id = s.job_id
     WHERE s.state = 'waiting' ${only ? 'AND s.job_id = $2 AND s.due_at = $3' : ''} AND (jobs.overlap = 'parallel' OR NOT EXISTS (
       SELECT 1 FROM job_slots e LEFT JOIN runs ON runs.id = e.run_id
       WHERE e.job_id = s.job_id AND e.due_at < s.due_at AND e.state IN ('waiting', 'scripting', 'running')
         AND (e.run_id IS NULL OR runs.state IN ('queued', 'running'))))
     ORDER BY s.due_at, s.job_id LIMIT $1`,
    claim.limit,
    ...(only ? [only.jobId, only.dueAt] : []),
  );
  const tasks: ScriptTask[] = [];
  for (const { job_id, due_at } of rows) {
    const held = yield* sql('UPDATE jobs SET updated_at = updated_at WHERE id = $1 RETURNING *', job_id ?? null);
    if (!held.rows[0]) continue;
    const job = jobOf(held.rows[0]);
    const taken = yield* sql(
      `UPDATE job_slots SET state = 'scripting', owner = $3, lease_until = $4
       WHERE job_id = $1 AND due_at = $2 AND state = 'waiting' RETURNING *`,
      job_id ?? null,
      due_at ?? null,
      claim.owner,
      claim.now + claim.leaseMs,
    );
    if (!taken.rows[0]) continue;
    const slot = slotOf(taken.rows[0]);
    if (job.enabled || slot.cause === 'manual') tasks.push({ job, slot });
    else yield* endPaused(slot, claim.now);
  }
  return tasks;
});

/** False when the slot is no longer held: whatever the script prints is of no use any more. */
export const renewScript = defineOperation(
  'slots.renew_script',
  function* (input: { jobId: string; dueAt: number; owner: string; until: number }): Steps<boolean> {
    const { changes } = yield* sql(
      `UPDATE job_slots SET lease_until = $4 WHERE job_id = $1 AND due_at = $2 AND owner = $3 AND state = 'scripting'`,
      input.jobId,
      input.dueAt,
      input.owner,
      input.until,
    );
    return changes > 0;
  },
);

export type ScriptEnd =
  | { kind: 'run'; run: NewRun }
  | { kind: 'gated'; reason: string }
  | { kind: 'failed'; reason: string; report: string };

export interface ScriptEnding {
  jobId: string;
  jobName: string;
  dueAt: number;
  /** Who ran the script; or, when that process is gone, that its lease was over by then. */
  holder: { owner: string } | { leaseOverBy: number };
  end: ScriptEnd;
  addresses: Address[];
  uniqueId: string;
  at: number;
}

/** What the script's end leads to. False when the slot is no longer held; then nothing is written. */
export const finishScript = defineOperation('slots.finish_script', function* (input: ScriptEnding): Steps<boolean> {
  const { jobId, dueAt, end, holder } = input;
  yield* sql('UPDATE jobs SET updated_at = updated_at WHERE id = $1', jobId);
  const { changes } = yield* sql(
    `UPDATE job_slots SET state = 'running', run_id = $3, owner = NULL, lease_until = NULL, context = NULL
     WHERE job_id = $1 AND due_at = $2 AND state = 'scripting' AND ${'owner' in holder ? 'owner = $4' : 'lease_until < $4'}`,
    jobId,
    dueAt,
    end.kind === 'run' ? end.run.id : null,
    'owner' in holder ? holder.owner : holder.leaseOverBy,
  );
  if (changes === 0) return false;
  if (end.kind === 'run') {
    yield* insertRun(end.run);
    return true;
  }
  const slotEnd: SlotEnd = { ...input, state: end.kind, reason: end.reason, counts: true };
  yield* endSlot(slotEnd);
  if (end.kind === 'failed') yield* tell(slotEnd, input.addresses, end.report, 'f');
  return true;
});

export interface ScriptWork {
  /** Slots whose process is gone: their lease is over, and they do not belong to the asking process. */
  lost: ScriptTask[];
  waiting: boolean;
}

/** What there is to do for whoever runs scripts. Asked all the time, so it only reads. */
export const scriptWork = defineOperation(
  'slots.script_work',
  function* (input: { now: number; owner: string }): Steps<ScriptWork> {
    const { rows } = yield* sql(
      `SELECT * FROM job_slots WHERE state = 'scripting' AND lease_until < $1 AND owner <> $2 ORDER BY due_at LIMIT 100`,
      input.now,
      input.owner,
    );
    const lost: ScriptTask[] = [];
    for (const row of rows) {
      const job = yield* sql('SELECT * FROM jobs WHERE id = $1', row.job_id ?? null);
      if (job.rows[0]) lost.push({ job: jobOf(job.rows[0]), slot: slotOf(row) });
    }
    const waiting = yield* sql(`SELECT 1 AS one FROM job_slots WHERE state = 'waiting' LIMIT 1`);
    return { lost, waiting: waiting.rows.length > 0 };
  },
);

function* endPaused(slot: Slot, at: number): Steps<void> {
  yield* sql(
    `UPDATE job_slots SET state = 'paused', reason = $3, ended_at = $4, owner = NULL, lease_until = NULL
     WHERE job_id = $1 AND due_at = $2`,
    slot.jobId,
    slot.dueAt,
    'The job was paused before this due time could start.',
    at,
  );
}
