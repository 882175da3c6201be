// What the end of a slot means for its job: counters, automatic pause, and the messages that go with them, all in the
// transaction that ends the slot.

import type { Address } from '../core/address.ts';
import { FAILURES_BEFORE_PAUSE, type FinalSlotState } from '../core/job.ts';
import type { Run } from '../core/run.ts';
import { sortableDigits, TIME_DIGITS } from '../core/time.ts';
import { insertDelivery } from './deliveries.ts';
import { type Row, type Steps, sql } from './operation.ts';

export interface SlotEnd {
  jobId: string;
  jobName: string;
  dueAt: number;
  state: FinalSlotState;
  /** Added to what the slot says about its start. */
  reason: string;
  at: number;
  /** Where messages about the job go. */
  addresses: readonly Address[];
  /** Makes the ids of messages about this end; unique to it. */
  uniqueId: string;
  runId?: string;
  /** False for what says nothing about the health of the job, such as a run that a person cancelled. */
  counts: boolean;
}

/** Ends the slot of a run that a job started. Called in the transaction that ends the run. */
export function* jobRunEnded(run: Run): Steps<void> {
  // Without a due time it is nobody's slot.
  if (run.source.ref === undefined) return;
  const { rows } = yield* sql(
    `SELECT s.job_id, s.due_at, s.late, jobs.name FROM job_slots s JOIN jobs ON jobs.id = s.job_id
     WHERE s.job_id = $1 AND s.due_at = $2 AND s.run_id = $3`,
    run.source.name,
    Number(run.source.ref),
    run.id,
  );
  const slot = rows[0];
  if (!slot) return;
  const worked = run.state === 'delivered' || run.state === 'silent';
  yield* endSlot({
    jobId: String(slot.job_id),
    jobName: String(slot.name),
    dueAt: Number(slot.due_at),
    state: worked ? (slot.late === 1 ? 'late' : 'ran') : 'failed',
    reason: reasonOf(run),
    at: run.endedAt ?? run.createdAt,
    addresses: run.addresses,
    uniqueId: run.id.slice(-8),
    runId: run.id,
    counts: !(run.state === 'failed' && run.cancelRequested),
  });
}

/** The job's row is taken first, as everywhere, so that processes meet there and not crosswise. */
export function* endSlot(end: SlotEnd): Steps<void> {
  const worked = end.state !== 'failed';
  const { rows } = end.counts
    ? yield* sql(
        `UPDATE jobs SET last_status = $2, last_error = $3, failures = CASE WHEN $4 = 1 THEN 0 ELSE failures + 1 END,
           last_success_at = CASE WHEN $4 = 1 THEN $5 ELSE last_success_at END,
           alarm_at = CASE WHEN $4 = 1 AND expect_every_ms IS NOT NULL THEN $5 + expect_every_ms ELSE alarm_at END
         WHERE id = $1 RETURNING id, name, enabled, failures, alarm, alarm_to`,
        end.jobId,
        end.state,
        worked ? null : end.reason,
        worked ? 1 : 0,
        end.at,
      )
    : yield* sql(
        'UPDATE jobs SET last_status = $2, last_error = $3 WHERE id = $1 RETURNING id',
        end.jobId,
        end.state,
        end.reason,
      );
  yield* sql(
    `UPDATE job_slots SET state = $3, reason = reason || ' ' || $4, ended_at = $5, owner = NULL, lease_until = NULL, context = NULL
     WHERE job_id = $1 AND due_at = $2`,
    end.jobId,
    end.dueAt,
    end.state,
    end.reason,
    end.at,
  );
  const job = rows[0];
  if (!job || !end.counts) return;
  if (worked) yield* tellRecovery(job, end);
  else yield* pauseAfterFailures(job, end);
}

function* tellRecovery(job: Row, end: SlotEnd): Steps<void> {
  if (job.alarm === null) return;
  yield* sql('UPDATE jobs SET alarm = NULL, alarm_to = NULL WHERE id = $1', end.jobId);
  const was = job.alarm === 'failures' ? 'It had been paused after failing again and again.' : 'It had been overdue.';
  const addresses = job.alarm_to === null ? end.addresses : (JSON.parse(String(job.alarm_to)) as Address[]);
  yield* tell(end, addresses, `Job "${job.name}" works again. ${was}`, 'r');
}

function* pauseAfterFailures(job: Row, end: SlotEnd): Steps<void> {
  if (job.enabled !== 1 || Number(job.failures) < FAILURES_BEFORE_PAUSE) return;
  const reason = `Paused by itself after ${job.failures} failures in a row. The last one: ${end.reason}`;
  yield* sql(
    `UPDATE jobs SET enabled = 0, paused_at = $2, pause_reason = $3, alarm = 'failures', alarm_to = $4,
       revision = revision + 1 WHERE id = $1`,
    end.jobId,
    end.at,
    reason,
    JSON.stringify(end.addresses),
  );
  const help = `\`svc cron why ${job.id}\` tells more; \`svc cron resume ${job.id}\` starts it again.`;
  yield* tell(end, end.addresses, `Job "${job.name}": ${reason}\n\n${help}`, 'p');
}

/** Also used for what concerns no run: a failed script, a missed reminder. */
export function* tell(end: SlotEnd, addresses: readonly Address[], text: string, what: string): Steps<void> {
  for (const [index, address] of addresses.entries()) {
    // Sorted by time like every id, and after the messages of the run itself, which end in the same millisecond.
    const id = `dlv_${sortableDigits(end.at, TIME_DIGITS)}zzz${end.uniqueId}${what}${index}`;
    yield* insertDelivery({ id, source: end.jobName, address, text, createdAt: end.at });
  }
}

function reasonOf(run: Run): string {
  const error = run.error ?? 'no reason was recorded';
  if (run.state === 'delivered')
    return run.addresses.length > 0 ? 'The answer was delivered.' : 'The answer was stored.';
  if (run.state === 'silent') return 'The answer contained [SILENT], so nothing was sent.';
  if (run.state === 'dead')
    return 'The run answered, but the answer could not be delivered; `svc deliveries list --state dead` tells why.';
  return `The run failed: ${error}`;
}
