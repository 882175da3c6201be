// Waits until a run has ended and tells how: for commands that started one.

import type { App } from '../../app.ts';
import { isFinal, type Run } from '../../core/run.ts';
import { type DeliverySummary, listDeliveries } from '../../store/deliveries.ts';
import { getRun } from '../../store/runs.ts';
import type { CliContext } from '../command.ts';
import { printDetails } from '../listing.ts';

export interface RunOutcome {
  run: Run;
  deliveries: DeliverySummary[];
}

const POLL_MS = 100;
const PATIENCE_MS = 10 * 60_000;

/** The run when it has ended, or as it stands when patience has. Undefined when there is no such run. */
export async function waitForRun(app: App, id: string): Promise<RunOutcome | undefined> {
  const store = await app.store();
  const giveUpAt = app.clock.now() + PATIENCE_MS;
  for (;;) {
    const run = await store.read(getRun({ id }));
    if (run === undefined) return undefined;
    if (isFinal(run.state) || app.clock.now() > giveUpAt) {
      const { deliveries } = await store.read(listDeliveries({ runId: id, limit: 20 }));
      return { run, deliveries };
    }
    await app.clock.sleep(POLL_MS);
  }
}

export function printOutcome(context: CliContext, { run, deliveries }: RunOutcome): void {
  printDetails(context, [
    ['run', run.id],
    ['state', run.state],
    ['error', run.error],
    ['answer', run.answer],
    ...deliveries.map(
      (one) => [one.state, [one.address.target, one.receipt, one.lastError].filter(Boolean).join(': ')] as const,
    ),
  ]);
}

export const outcomeToWire = ({ run, deliveries }: RunOutcome) => ({
  id: run.id,
  state: run.state,
  answer: run.answer ?? null,
  error: run.error ?? null,
  deliveries: deliveries.map((one) => ({
    target: one.address.target,
    state: one.state,
    receipt: one.receipt ?? null,
    error: one.lastError ?? null,
  })),
});
