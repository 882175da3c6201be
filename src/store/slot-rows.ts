// The rows of job_slots: how they are written and read, without any rule about when.

import type { FinalSlotState, Slot, SlotCause, SlotState } from '../core/job.ts';
import { type Row, type Steps, sql } from './operation.ts';
import { optional } from './run-moves.ts';

/** Due times that nothing will happen for, as one row: from the first to the last of them. */
export interface PassedSlots {
  dueAt: number;
  lastDueAt: number;
  instants: number;
  state: FinalSlotState;
  reason: string;
  note?: string;
}

/** A row that stands for one instant unless told otherwise. */
export type NewSlot = Omit<Slot, 'lastDueAt' | 'instants'> & Partial<Pick<Slot, 'lastDueAt' | 'instants'>>;

export function* insertPassed(jobId: string, passed: PassedSlots, at: number): Steps<void> {
  yield* insertSlot({ jobId, ...passed, cause: 'schedule', late: false, recordedAt: at, endedAt: at });
}

/** False when the instant has a row already: nothing may happen for it a second time. */
export function* insertSlot(slot: NewSlot): Steps<boolean> {
  const { changes } = yield* sql(
    `INSERT INTO job_slots (job_id, due_at, last_due_at, instants, cause, cause_ref, context, state, late, reason, note,
                            run_id, recorded_at, ended_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT DO NOTHING`,
    slot.jobId,
    slot.dueAt,
    slot.lastDueAt ?? slot.dueAt,
    slot.instants ?? 1,
    slot.cause,
    slot.causeRef ?? null,
    slot.context ?? null,
    slot.state,
    slot.late ? 1 : 0,
    slot.reason,
    slot.note ?? null,
    slot.runId ?? null,
    slot.recordedAt,
    slot.endedAt ?? null,
  );
  return changes > 0;
}

export function slotOf(row: Row): Slot {
  const text = (column: string): string | undefined => (row[column] === null ? undefined : String(row[column]));
  return {
    jobId: String(row.job_id),
    dueAt: Number(row.due_at),
    lastDueAt: Number(row.last_due_at),
    instants: Number(row.instants),
    cause: row.cause as SlotCause,
    ...optional('causeRef', text('cause_ref')),
    ...optional('context', text('context')),
    state: row.state as SlotState,
    late: Number(row.late) === 1,
    reason: String(row.reason),
    ...optional('note', text('note')),
    ...optional('runId', text('run_id')),
    recordedAt: Number(row.recorded_at),
    ...optional('endedAt', row.ended_at === null ? undefined : Number(row.ended_at)),
  };
}
