// How jobs and their due times are printed: tables and details for people, the wire shape as JSON.

import type { Job, Slot } from '../core/job.ts';
import { jobToWire } from '../jobs/job.ts';
import { nextDue, readSchedule } from '../jobs/schedule.ts';
import { slotToWire } from '../jobs/slot-wire.ts';
import { showSpan, writeSpan } from '../jobs/span.ts';
import { showInstant } from '../jobs/zone.ts';
import type { CliContext } from './command.ts';
import { printDetails, printJson, printListing } from './listing.ts';

const SHOWN_NEXT = 3;

interface View {
  json: boolean;
  now: number;
}

export function printJobs(context: CliContext, jobs: readonly Job[], { json, now }: View): void {
  printListing(context, jobs, {
    json,
    columns: [
      { title: 'ID', value: ({ id }) => id },
      { title: 'NAME', value: ({ name }) => name },
      { title: 'SCHEDULE', value: ({ schedule }) => schedule },
      { title: 'NEXT', value: (job) => nextText(job, now) },
      { title: 'LAST', value: ({ lastStatus }) => lastStatus ?? 'never ran' },
      { title: 'DELIVER', value: ({ options }) => options.deliver },
    ],
    toJson: jobToWire,
    empty: 'No jobs. Make one: svc cron create "every 1h" "…"',
  });
}

/** After making or changing a job: what it is and when it is due next. */
export function printMade(context: CliContext, done: string, job: Job, { json, now }: View): void {
  const next = upcoming(job, now, SHOWN_NEXT);
  if (json) {
    printJson(context, { ...jobToWire(job), next: next.map(({ at }) => new Date(at).toISOString()) });
    return;
  }
  context.stdout.write(`${done} "${job.name}" (${job.id}).\n`);
  if (!job.enabled) context.stdout.write(`It is paused: ${job.pauseReason ?? 'no reason given.'}\n`);
  else for (const due of next) context.stdout.write(`  next  ${dueText(job, due, now)}\n`);
}

export function printJob(context: CliContext, job: Job, { json, now, slots }: View & { slots: readonly Slot[] }): void {
  if (json) {
    printJson(context, { ...jobToWire(job), slots: slots.map(slotToWire) });
    return;
  }
  const { options } = job;
  const next = upcoming(job, now, SHOWN_NEXT);
  printDetails(context, [
    ['id', job.id],
    ['name', job.name],
    ['schedule', `${job.schedule} (${job.tz})`],
    ['prompt', job.prompt],
    ['deliver', options.deliver],
    ['skills', options.skills.join(', ')],
    ['script', options.script],
    ['model', options.model],
    ['toolsets', options.toolsets?.join(', ')],
    ['allowed tools', options.allowedTools?.join(', ')],
    ['overlap', job.overlap],
    ['grace', options.graceMs === undefined ? undefined : writeSpan(options.graceMs)],
    ['time limit', options.timeoutMs === undefined ? undefined : writeSpan(options.timeoutMs)],
    ['expected every', job.expectEveryMs === undefined ? undefined : writeSpan(job.expectEveryMs)],
    ['made', `${showInstant(job.tz, job.createdAt)} by ${options.madeBy === 'person' ? 'a person' : 'an agent'}`],
    ['paused', job.enabled ? undefined : (job.pauseReason ?? 'yes')],
    ['next', job.enabled ? next.map((due) => dueText(job, due, now)).join('\n') || 'nothing more is due' : undefined],
    ['last status', job.lastStatus],
    ['last error', job.lastError],
    ['failures in a row', job.failures > 0 ? job.failures : undefined],
    ['due times', slots.map((slot) => `${showInstant(job.tz, slot.dueAt)}  ${slot.state}  ${slot.reason}`).join('\n')],
  ]);
}

export function printSlots(context: CliContext, job: Job, slots: readonly Slot[], json: boolean): void {
  printListing(context, slots, {
    json,
    columns: [
      { title: 'DUE', value: (slot) => showInstant(job.tz, slot.dueAt) },
      { title: 'TIMES', value: ({ instants }) => instants },
      { title: 'STATE', value: ({ state }) => state },
      { title: 'RUN', value: ({ runId }) => runId },
      { title: 'REASON', value: ({ reason }) => reason },
    ],
    toJson: slotToWire,
    empty: 'It has not been due yet.',
  });
}

function upcoming(job: Job, now: number, count: number): { at: number; note?: string }[] {
  const reading = readSchedule(job.schedule, job.tz, job.anchorAt);
  if (reading.kind === 'invalid' || job.nextRunAt === undefined) return [];
  const found = [];
  let due = nextDue(reading.schedule, Math.max(now, job.nextRunAt - 1));
  for (; due && found.length < count; due = nextDue(reading.schedule, due.at)) found.push(due);
  return found;
}

const dueText = (job: Job, due: { at: number; note?: string }, now: number): string =>
  `${showInstant(job.tz, due.at)} (in ${showSpan(Math.max(0, due.at - now))})${due.note === undefined ? '' : `  ${due.note}`}`;

function nextText(job: Job, now: number): string {
  if (!job.enabled) return 'paused';
  if (job.nextRunAt === undefined) return 'done';
  const away = job.nextRunAt - now;
  return away >= 0 ? `in ${showSpan(away)}` : `due ${showSpan(-away)} ago`;
}
