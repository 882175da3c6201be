// Why a job ran, or did not, at some time. Everything said here is read from stored rows; nothing is worked out again.

import type { Job, Slot, SlotState } from '../core/job.ts';
import type { Run } from '../core/run.ts';
import { type DeliverySummary, listDeliveries } from '../store/deliveries.ts';
import { getRun } from '../store/runs.ts';
import { slotsAround } from '../store/slots.ts';
import type { Store } from '../store/store.ts';
import { readInstant } from './schedule.ts';
import { showSpan } from './span.ts';
import { showInstant } from './zone.ts';

export interface Explanation {
  job: Job;
  /** The instant that was asked for. */
  at: number;
  slot?: Slot;
  run?: Run;
  deliveries: DeliverySummary[];
  /** The answer, as sentences. */
  sentences: string[];
}

const NEAR_MS = 60_000;

const MEANING: Readonly<Record<SlotState, string>> = {
  waiting: 'It waits for its script to start.',
  scripting: 'Its script is running.',
  running: 'Its run has not ended yet.',
  ran: 'It ran.',
  late: 'It ran late.',
  coalesced: 'It was not run by itself: one later run stands for it.',
  skipped_overlap: 'It was skipped, because the job was still busy.',
  missed: 'It was missed.',
  paused: 'It was not run: the job was paused.',
  gated: 'Its script found nothing to do, so no run was started.',
  failed: 'It failed.',
};

/** Reads a time in the zone of the job: `2026-03-29 02:30`, an ISO time with a zone, or `09:00` for the last one. */
export function readAskedTime(text: string, job: Job, now: number): { at: number; note?: string } | undefined {
  const clock = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text.trim());
  if (!clock) return readInstant(text, job.tz);
  const today = showInstant(job.tz, now).slice(0, 10);
  const yesterday = showInstant(job.tz, now - 86_400_000).slice(0, 10);
  const candidates = [today, yesterday].map((day) => readInstant(`${day} ${text.trim().padStart(5, '0')}`, job.tz));
  return candidates.find((candidate) => candidate !== undefined && candidate.at <= now);
}

/** Explains the slot at or around the instant; the newest one when none is given. */
export async function explain(
  store: Store,
  job: Job,
  asked: { at: number; note?: string } | undefined,
  now: number,
): Promise<Explanation> {
  const at = asked?.at ?? now;
  const around = await store.read(slotsAround({ jobId: job.id, at: asked?.at ?? Number.MAX_SAFE_INTEGER }));
  const slot = asked === undefined ? around.before : coveringSlot(around, at);
  const show = (instant: number): string => showInstant(job.tz, instant);
  const note = asked?.note === undefined || asked.note === slot?.note ? [] : [asked.note];
  if (!slot) {
    return { job, at, deliveries: [], sentences: [...note, ...withoutSlot(job, around, at, now, asked === undefined)] };
  }
  const run = slot.runId === undefined ? undefined : await store.read(getRun({ id: slot.runId }));
  const { deliveries } = run
    ? await store.read(listDeliveries({ runId: run.id, limit: 20 }))
    : { deliveries: [] as DeliverySummary[] };
  const sentences = [
    ...note,
    `${dueText(slot, show)} ${MEANING[slot.state]}`,
    slot.reason,
    ...(slot.note === undefined ? [] : [slot.note]),
    ...(run ? runSentences(run, deliveries, show) : []),
    ...(slot.runId !== undefined && !run ? [`Its run ${slot.runId} is no longer stored.`] : []),
    ...(asked === undefined ? [nextSentence(job, now)] : []),
  ];
  return { job, at, slot, ...(run && { run }), deliveries, sentences };
}

function coveringSlot({ before, after }: { before?: Slot; after?: Slot }, at: number): Slot | undefined {
  if (before && (at <= before.lastDueAt || at - before.dueAt < NEAR_MS)) return before;
  return after && after.dueAt - at < NEAR_MS ? after : undefined;
}

function dueText(slot: Slot, show: (instant: number) => string): string {
  if (slot.cause === 'manual') return `${show(slot.dueAt)}: a person started it.`;
  if (slot.cause === 'webhook') return `${show(slot.dueAt)}: an event asked for it.`;
  if (slot.instants === 1) return `${show(slot.dueAt)}: due.`;
  return `Due ${slot.instants} times from ${show(slot.dueAt)} to ${show(slot.lastDueAt)}.`;
}

function runSentences(run: Run, deliveries: readonly DeliverySummary[], show: (instant: number) => string): string[] {
  const times = [
    ...(run.startedAt === undefined ? [] : [`started ${show(run.startedAt)}`]),
    ...(run.startedAt === undefined || run.endedAt === undefined
      ? []
      : [`took ${showSpan(run.endedAt - run.startedAt)}`]),
  ];
  const text = `Run ${run.id} is ${run.state}${times.length > 0 ? ` (${times.join(', ')})` : ''}.`;
  return [text, ...deliveries.map((delivery) => `Message ${delivery.id} is ${delivery.state}.`)];
}

function withoutSlot(
  job: Job,
  { before, after }: { before?: Slot; after?: Slot },
  at: number,
  now: number,
  newest: boolean,
): string[] {
  const show = (instant: number): string => showInstant(job.tz, instant);
  if (newest) return ['It has not been due yet.', nextSentence(job, now)];
  if (at > now) return [`${show(at)} is still to come.`, nextSentence(job, now)];
  if (at < job.createdAt) return [`The job did not exist at ${show(at)}: it was made at ${show(job.createdAt)}.`];
  if (!job.enabled && job.pausedAt !== undefined && job.pausedAt <= at) {
    return [`The job was paused at ${show(job.pausedAt)}. ${job.pauseReason ?? ''}`.trim()];
  }
  if (job.nextRunAt !== undefined && job.enabled && job.nextRunAt <= at) {
    return [
      `The job has been due since ${show(job.nextRunAt)}, and no gateway has recorded it yet.`,
      '`svc gateway status` tells whether one is running.',
    ];
  }
  return [
    `Nothing was due at ${show(at)}.`,
    before
      ? `The due time before it: ${show(before.lastDueAt)} (${before.state}).${before.note === undefined ? '' : ` ${before.note}`}`
      : 'No earlier due time is stored.',
    after ? `The one after it: ${show(after.dueAt)} (${after.state}).` : nextSentence(job, now),
  ];
}

function nextSentence(job: Job, now: number): string {
  if (!job.enabled) return `The job is paused. ${job.pauseReason ?? ''}`.trim();
  if (job.nextRunAt === undefined) return 'Nothing more is due.';
  const away = job.nextRunAt - now;
  const when = away >= 0 ? `in ${showSpan(away)}` : `${showSpan(-away)} ago, not recorded yet`;
  return `Next due: ${showInstant(job.tz, job.nextRunAt)} (${when}).`;
}
