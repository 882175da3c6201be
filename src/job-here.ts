// A job that was started from a command while no gateway runs: its script, its run and its messages are done here.

import type { App } from './app.ts';
import type { Slot } from './core/job.ts';
import { isFinal, type Run } from './core/run.ts';
import { attemptParts, openOutbox } from './run-parts.ts';
import { runHere } from './runs/run-here.ts';
import { getRun } from './store/runs.ts';
import { slotsAround } from './store/slots.ts';

const POLL_MS = 200;
/** A target that does not take the message now gets it from the next gateway. */
const DELIVERY_MS = 60_000;

export interface SlotResult {
  slot: Slot;
  run?: Run;
}

/** Carries the slot out as far as this process can; what is left waits in the store. */
export async function finishSlotHere(app: App, started: Slot, signal: AbortSignal): Promise<SlotResult> {
  const outbox = await openOutbox(app);
  try {
    if (started.runId === undefined) {
      const scripts = (await app.jobs()).scripts();
      await scripts.look({ jobId: started.jobId, dueAt: started.dueAt });
      signal.addEventListener('abort', () => void scripts.stop(), { once: true });
      await scripts.idle();
    }
    const { slot } = await slotResult(app, started);
    if (slot.runId !== undefined) await runHere(slot.runId, await attemptParts(app, outbox.wake), signal);
    return await waitForSlot(app, started, AbortSignal.any([signal, AbortSignal.timeout(DELIVERY_MS)]));
  } finally {
    await outbox.stop();
  }
}

/** Waits until the slot and its run have ended, or the signal aborts. */
export async function waitForSlot(app: App, started: Slot, signal: AbortSignal): Promise<SlotResult> {
  for (;;) {
    const result = await slotResult(app, started);
    const ended = result.slot.endedAt !== undefined && (result.run === undefined || isFinal(result.run.state));
    if (ended || signal.aborted) return result;
    await app.clock.sleep(POLL_MS, signal);
  }
}

async function slotResult(app: App, { jobId, dueAt }: Slot): Promise<SlotResult> {
  const store = await app.store();
  const { before } = await store.read(slotsAround({ jobId, at: dueAt }));
  if (before?.dueAt !== dueAt) throw new Error('The job was removed while it ran.');
  const run = before.runId === undefined ? undefined : await store.read(getRun({ id: before.runId }));
  return { slot: before, ...(run && { run }) };
}
