// `svc cron run`: starts a job now. A running gateway carries it out; without one it is done here.

import type { Command } from 'commander';
import { SvcError } from '../core/errors.ts';
import type { Job } from '../core/job.ts';
import type { SlotResult } from '../job-here.ts';
import { slotToWire } from '../jobs/slot-wire.ts';
import type { CliContext } from './command.ts';
import { findGateway } from './find-gateway.ts';
import { addExamples, printJson } from './listing.ts';
import { withApp } from './with-app.ts';

export function defineRun(command: Command, context: CliContext): void {
  command
    .description('Start a job now, by its own overlap rule; without a gateway it runs here.')
    .argument('<job>', 'id or name')
    .option('--wait', 'wait until it has ended, and print its answer')
    .option('--json', 'print JSON');
  addExamples(command, ['svc cron run report', 'svc cron run report --wait']);
  command.action((key: string, { wait, json }: { wait?: true; json?: true }) =>
    withApp(context, async (app) => {
      const interruption = new AbortController();
      const onSignal = (): void => interruption.abort();
      process.once('SIGINT', onSignal);
      try {
        const fired = await (await app.jobs()).jobs.fire(key, { cause: 'manual' });
        const { job, slot } = fired;
        if (fired.kind === 'skipped_overlap') {
          throw new SvcError('conflict', `"${job.name}" was not started. ${slot.reason}`, {
            help: 'Wait for it, cancel it with `svc runs cancel`, or allow it: svc cron edit … --overlap parallel',
          });
        }
        const here = findGateway(app.paths) === undefined;
        if (!json) {
          const where = here ? 'No gateway is running, so it runs here.' : 'The gateway carries it out.';
          context.stderr.write(`Started "${job.name}". ${where}\n`);
        }
        const { finishSlotHere, waitForSlot } = await import('../job-here.ts');
        if (!here && !wait) {
          const run = slot.runId === undefined ? '' : `Run ${slot.runId}. `;
          if (json) printJson(context, { job: job.id, slot: slotToWire(slot) });
          else context.stdout.write(`${run}See it with: svc cron why ${job.id}\n`);
          return;
        }
        const carryOut = here ? finishSlotHere : waitForSlot;
        print(context, job, await carryOut(app, slot, interruption.signal), json === true);
      } finally {
        process.removeListener('SIGINT', onSignal);
      }
    }),
  );
}

function print(context: CliContext, job: Job, { slot, run }: SlotResult, json: boolean): void {
  if (json) {
    printJson(context, {
      job: job.id,
      slot: slotToWire(slot),
      run: run ? { id: run.id, state: run.state, answer: run.answer ?? null, error: run.error ?? null } : null,
    });
  } else {
    if (run?.answer !== undefined) context.stdout.write(`${run.answer}\n`);
    context.stderr.write(`${slot.state}: ${slot.reason}\n`);
  }
  if (slot.state === 'failed') {
    throw new SvcError(run === undefined ? 'script_failed' : 'model_failed', `"${job.name}" failed.`, {
      help: `See what happened: svc cron why ${job.id}`,
    });
  }
}
