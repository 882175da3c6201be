// Joins what carries out runs and sends their messages: used by the gateway for everything that waits, and by commands for
// the one run they started.

import type { App } from './app.ts';
import { type Outbox, startOutbox } from './outbox/outbox.ts';
import type { AttemptDeps } from './runs/attempt.ts';
import { createExecutor } from './runs/execute.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export async function openOutbox(app: App): Promise<Outbox> {
  const { config } = await app.config();
  return startOutbox({
    store: await app.store(),
    deliverer: await app.delivery(),
    clock: app.clock,
    log: app.log.child({ part: 'outbox' }),
    owner: app.newId('gateway'),
    concurrency: config.delivery.concurrency,
    keepMs: config.runs.keep_days * DAY_MS,
  });
}

/** What an attempt at a run needs. */
export async function attemptParts(app: App, onMessages: () => void): Promise<Omit<AttemptDeps, 'leaseMs'>> {
  const { config } = await app.config();
  const { models, toolsFor, skillsFor, endTask } = await app.agent();
  const log = app.log.child({ part: 'runs' });
  const { instructions, max_steps: maxSteps, max_tokens: maxTokens, timeout_s } = config.agent;
  const execute = createExecutor({
    modelFor: models.modelFor,
    toolsFor,
    skillsFor,
    endTask,
    ...(instructions !== undefined && { instructions }),
    limits: { maxSteps, ...(maxTokens !== undefined && { maxTokens }) },
    clock: app.clock,
    newId: app.newId,
    log,
  });
  const { clock, newId } = app;
  return { store: await app.store(), execute, clock, newId, log, timeoutMs: timeout_s * 1000, onMessages };
}
