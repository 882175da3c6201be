// What becomes of a job's due times at one moment: the newest is started if it is not too late, the ones before it are
// coalesced into it, and what is beyond the grace is missed. Pure: rows in, rows out.

import type { PassedSlots } from '../store/slot-rows.ts';
import { countDue, lastDue, nextDue, periodAt, type Schedule } from './schedule.ts';
import { showSpan } from './span.ts';

const MINUTE_MS = 60_000;
/** A start within this counts as on time; it covers a busy moment, not an outage. */
export const ON_TIME_MS = MINUTE_MS;
const MIN_GRACE_MS = 2 * MINUTE_MS;
const MAX_GRACE_MS = 120 * MINUTE_MS;

export interface PlannedSlot {
  dueAt: number;
  late: boolean;
  reason: string;
  note?: string;
}

export interface Plan {
  passed?: PassedSlots;
  due?: PlannedSlot;
  /** Where the schedule goes on. */
  thenRunAt?: number;
}

export interface PlanInput {
  schedule: Schedule;
  /** The first due instant that has no slot yet; not after `now`. */
  nextRunAt: number;
  graceMs: number | undefined;
  now: number;
  /** Why a due time may have been left lying, as a sentence. */
  delay: string;
}

export function planSlots({ schedule, nextRunAt, graceMs, now, delay }: PlanInput): Plan {
  const then = nextDue(schedule, now);
  const thenRunAt = then ? { thenRunAt: then.at } : {};
  const newest = lastDue(schedule, nextRunAt, now);
  const lateMs = now - newest.at;
  const graceUsedMs = graceMs ?? defaultGraceMs(schedule, newest.at);
  const instants = countDue(schedule, nextRunAt, newest.at);
  if (lateMs > Math.max(graceUsedMs, ON_TIME_MS)) {
    const reason = `${delay} It was noticed ${showSpan(lateMs)} late; up to ${showSpan(graceUsedMs)} would have been made up.`;
    const note = newest.note === undefined ? {} : { note: newest.note };
    return {
      passed: { dueAt: nextRunAt, lastDueAt: newest.at, instants, state: 'missed', reason, ...note },
      ...thenRunAt,
    };
  }
  const late = lateMs > ON_TIME_MS;
  const due: PlannedSlot = {
    dueAt: newest.at,
    late,
    reason: late ? `Started ${showSpan(lateMs)} late. ${delay}` : 'Started on time.',
    ...(newest.note !== undefined && { note: newest.note }),
  };
  if (newest.at <= nextRunAt) return { due, ...thenRunAt };
  const before = lastDue(schedule, nextRunAt, newest.at - 1);
  const passed: PassedSlots = {
    dueAt: nextRunAt,
    lastDueAt: before.at,
    instants: countDue(schedule, nextRunAt, before.at),
    state: 'coalesced',
    reason: `${delay} One run at the newest due time, ${new Date(newest.at).toISOString()}, stands for it.`,
    ...(before.note !== undefined && { note: before.note }),
  };
  return { passed, due, ...thenRunAt };
}

/** Half the period, between 2 minutes and 2 hours; 2 hours for what happens once and cannot wait for a next time. */
export function defaultGraceMs(schedule: Schedule, at: number): number {
  const periodMs = periodAt(schedule, at);
  if (periodMs === undefined) return MAX_GRACE_MS;
  return Math.min(Math.max(periodMs / 2, MIN_GRACE_MS), MAX_GRACE_MS);
}
