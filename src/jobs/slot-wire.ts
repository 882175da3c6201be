// A due time of a job in the shape in which users see it: JSON output and tool results.

import type { Slot } from '../core/job.ts';

export const slotToWire = (slot: Slot): Record<string, unknown> => ({
  due_at: new Date(slot.dueAt).toISOString(),
  last_due_at: new Date(slot.lastDueAt).toISOString(),
  instants: slot.instants,
  cause: slot.cause,
  state: slot.state,
  reason: slot.reason,
  note: slot.note ?? null,
  run_id: slot.runId ?? null,
  recorded_at: new Date(slot.recordedAt).toISOString(),
  ended_at: slot.endedAt === undefined ? null : new Date(slot.endedAt).toISOString(),
});
