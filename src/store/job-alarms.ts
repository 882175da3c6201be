// Expectations that ran out: jobs that should have succeeded by now and did not. An alarm is raised once, and taken back by
// the next success (job-outcome.ts).

import type { Address } from '../core/address.ts';
import type { Job } from '../core/job.ts';
import { insertDelivery, type NewDelivery } from './deliveries.ts';
import { jobOf } from './jobs.ts';
import { defineOperation, type Steps, sql } from './operation.ts';

export const dueAlarms = defineOperation('jobs.due_alarms', function* (input: { now: number; limit: number }): Steps<
  Job[]
> {
  const { rows } = yield* sql(
    `SELECT * FROM jobs WHERE enabled = 1 AND alarm_at IS NOT NULL AND alarm_at <= $1 ORDER BY alarm_at, id LIMIT $2`,
    input.now,
    input.limit,
  );
  return rows.map(jobOf);
});

/** False when a success, or another process, was faster. */
export const raiseAlarm = defineOperation(
  'jobs.raise_alarm',
  function* (input: { jobId: string; alarmAt: number; addresses: Address[]; messages: NewDelivery[] }): Steps<boolean> {
    const { changes } = yield* sql(
      `UPDATE jobs SET alarm_at = NULL, alarm = 'expectation', alarm_to = $3 WHERE id = $1 AND alarm_at = $2`,
      input.jobId,
      input.alarmAt,
      JSON.stringify(input.addresses),
    );
    if (changes === 0) return false;
    for (const message of input.messages) yield* insertDelivery(message);
    return true;
  },
);
