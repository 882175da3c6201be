// Expectations: a job that should succeed at least so often and did not. The alarm goes to the configured target, else to
// the job's own; the next success takes it back (store/job-outcome.ts).

import type { Address } from '../core/address.ts';
import type { Job } from '../core/job.ts';
import type { NewId } from '../core/time.ts';
import { dueAlarms, raiseAlarm } from '../store/job-alarms.ts';
import type { Store } from '../store/store.ts';
import { addressesOf } from './fire.ts';
import { showSpan } from './span.ts';
import { showInstant } from './zone.ts';

const BATCH = 100;

export interface ExpectationDeps {
  store: Store;
  newId: NewId;
  /** `cron.alarm_deliver` of the config. */
  alarmAddresses: readonly Address[] | undefined;
  onMessages(): void;
}

/** Raises every alarm that is due. */
export async function raiseAlarms(deps: ExpectationDeps, now: number): Promise<void> {
  for (;;) {
    const jobs = await deps.store.read(dueAlarms({ now, limit: BATCH }));
    for (const job of jobs) {
      const addresses = [...(deps.alarmAddresses ?? addressesOf(job))];
      const text = alarmText(job, now);
      const messages = addresses.map((address) => ({
        id: deps.newId('dlv'),
        source: job.name,
        address,
        text,
        createdAt: now,
      }));
      await deps.store.write(raiseAlarm({ jobId: job.id, alarmAt: job.alarmAt ?? now, addresses, messages }));
    }
    if (jobs.length > 0) deps.onMessages();
    if (jobs.length < BATCH) return;
  }
}

function alarmText(job: Job, now: number): string {
  const expected = showSpan(job.expectEveryMs ?? 0);
  const last =
    job.lastSuccessAt === undefined
      ? `It has never succeeded since it was made at ${showInstant(job.tz, job.createdAt)}.`
      : `Its last success was at ${showInstant(job.tz, job.lastSuccessAt)}, ${showSpan(now - job.lastSuccessAt)} ago.`;
  const error = job.lastError === undefined ? '' : ` Last error: ${job.lastError}`;
  return `Job "${job.name}" should succeed at least every ${expected} and did not. ${last}${error}\n\n\`svc cron why ${job.id}\` tells more.`;
}
