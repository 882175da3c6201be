// `svc runs`: what was started, how it went, and what a person can still do about it.

import type { Command } from 'commander';
import { SvcError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { RUN_SOURCES, RUN_STATES, type Run, type RunSource } from '../../core/run.ts';
import type { Step } from '../../core/step.ts';
import { type DeliverySummary, listDeliveries } from '../../store/deliveries.ts';
import { cancelRun, getRun, listRuns, type RunSummary, retryRun, stepsOf } from '../../store/runs.ts';
import type { CliContext, CommandModule } from '../command.ts';
import { addExamples, printDetails, printJson, printListing } from '../listing.ts';
import { withApp } from '../with-app.ts';

const MAX_LISTED = 1000;

export const runs: CommandModule = {
  define(command, context) {
    command.description('List, show, cancel and retry runs: one per webhook event, due job time or request.');
    addExamples(command, ['svc runs list --state failed', 'svc runs show <id>', 'svc runs retry <id>']);
    defineList(command.command('list'), context);
    defineShow(command.command('show'), context);
    defineCancel(command.command('cancel'), context);
    defineRetry(command.command('retry'), context);
  },
};

interface ListOptions {
  state?: string;
  source?: string;
  since?: string;
  limit: string;
  cursor?: string;
  json?: true;
}

function defineList(command: Command, context: CliContext): void {
  command
    .description('List runs, newest first.')
    .option('--state <state>', `only runs in this state: ${RUN_STATES.join(', ')}`)
    .option('--source <kind[:name]>', 'only runs of this source, e.g. webhook, webhook:issues, job:<id>')
    .option('--since <time>', 'only runs created since then: 30m, 12h, 7d or an ISO time')
    .option('--limit <number>', `how many at most, up to ${MAX_LISTED}`, '50')
    .option('--cursor <id>', 'go on below this run')
    .option('--json', 'print JSON');
  addExamples(command, [
    'svc runs list',
    'svc runs list --state failed --since 24h',
    'svc runs list --source webhook:issues --json',
  ]);
  command.action((options: ListOptions) =>
    withApp(context, async (app) => {
      const filter = {
        limit: numberIn(options.limit, '--limit', MAX_LISTED),
        ...(options.state !== undefined && { state: oneOf(RUN_STATES, options.state, '--state') }),
        ...(options.source !== undefined && sourceFilter(options.source)),
        ...(options.since !== undefined && { since: sinceOf(options.since, app.clock.now()) }),
        ...(options.cursor !== undefined && { cursor: options.cursor }),
      };
      const page = await (await app.store()).read(listRuns(filter));
      printListing(context, page.runs, {
        json: options.json === true,
        columns: [
          { title: 'ID', value: (run) => run.id },
          {
            title: 'STATE',
            value: (run) => (run.cancelRequested && run.state === 'running' ? 'cancelling' : run.state),
          },
          { title: 'SOURCE', value: (run) => sourceText(run.source) },
          { title: 'CREATED', value: (run) => time(run.createdAt) },
          { title: 'STEPS', value: (run) => run.steps },
          { title: 'ERROR', value: (run) => run.error },
        ],
        toJson: summaryToWire,
        empty: 'No runs.',
      });
      if (page.next) context.stderr.write(`More: add --cursor ${page.next}\n`);
    }),
  );
}

function defineShow(command: Command, context: CliContext): void {
  command
    .description('Show one run: its prompt, steps, answer and deliveries.')
    .argument('<id>', 'the id of the run')
    .option('--json', 'print JSON');
  addExamples(command, ['svc runs show run_01jc…', 'svc runs show run_01jc… --json']);
  command.action((id: string, { json }: { json?: true }) =>
    withApp(context, async (app) => {
      const store = await app.store();
      const run = await store.read(getRun({ id }));
      if (!run) throw notFound(id);
      const steps = await store.read(stepsOf({ id }));
      const { deliveries } = await store.read(listDeliveries({ runId: id, limit: 100 }));
      if (json) printJson(context, runToWire(run, steps, deliveries));
      else printRun(context, run, steps, deliveries);
    }),
  );
}

function defineCancel(command: Command, context: CliContext): void {
  command.description('Cancel a run that has not ended.').argument('<id>', 'the id of the run');
  addExamples(command, ['svc runs cancel run_01jc…']);
  command.action((id: string) =>
    withApp(context, async (app) => {
      const result = await (await app.store()).write(cancelRun({ id, at: app.clock.now() }));
      switch (result.kind) {
        case 'cancelled':
          return void context.stdout.write(`${id} is cancelled; it had not started.\n`);
        case 'requested':
          return void context.stdout.write(`${id} is told to stop; that takes a few seconds.\n`);
        case 'too_late':
          throw new SvcError('conflict', `${id} is ${result.state} and cannot be cancelled.`, {
            help: 'Messages that are not sent yet can be dropped with `svc deliveries drop`.',
          });
        case 'not_found':
          throw notFound(id);
      }
    }),
  );
}

function defineRetry(command: Command, context: CliContext): void {
  command
    .description('Try a failed run again from its last finished step, or send the answer of a dead one again.')
    .argument('<id>', 'the id of the run');
  addExamples(command, ['svc runs retry run_01jc…']);
  command.action((id: string) =>
    withApp(context, async (app) => {
      const result = await (await app.store()).write(retryRun({ id, at: app.clock.now() }));
      switch (result.kind) {
        case 'queued':
          return void context.stdout.write(`${id} is queued again.\n`);
        case 'redelivering':
          return void context.stdout.write(`The answer of ${id} is sent again.\n`);
        case 'not_ended':
          throw new SvcError('conflict', `${id} is ${result.state}; only failed and dead runs can be tried again.`, {
            help: 'Look at it with `svc runs show`.',
          });
        case 'not_found':
          throw notFound(id);
      }
    }),
  );
}

function printRun(context: CliContext, run: Run, steps: readonly Step[], deliveries: readonly DeliverySummary[]): void {
  printDetails(context, [
    ['id', run.id],
    ['state', run.state],
    ['source', sourceText(run.source)],
    ['created', time(run.createdAt)],
    ['available', run.availableAt > run.createdAt ? time(run.availableAt) : undefined],
    ['started', run.startedAt && time(run.startedAt)],
    ['ended', run.endedAt && time(run.endedAt)],
    ['attempt', run.attempt],
    ['retries', run.retries || undefined],
    ['worker', run.owner],
    ['error', run.error],
    ['model', run.settings.model],
    ['tools', run.settings.toolsets.join(', ')],
    ['skills', run.settings.skills.join(', ')],
    ['limit', run.limit && `${run.limit.max} at once of ${run.limit.key}`],
    ['serial key', run.serialKey],
    ['instructions', run.settings.instructions],
    ['prompt', run.prompt],
    ...steps.map((step, index) => [`step ${index + 1}`, stepText(step)] as const),
    ['answer', run.answer],
    ...deliveries.map((one) => ['delivery', deliveryText(one)] as const),
  ]);
}

function stepText(step: Step): string {
  switch (step.kind) {
    case 'model': {
      const calls = step.toolCalls.map(({ name, arguments: given, rawArguments }) => {
        return `calls ${name} ${rawArguments ?? JSON.stringify(given)}`;
      });
      return [step.text, ...calls].filter((line) => line !== '').join('\n');
    }
    case 'tool_started':
      return `tool ${step.callId} starts`;
    case 'tool_result':
      return `tool ${step.callId} ${step.failed ? 'failed' : 'answered'}: ${step.output}`;
    case 'compacted':
      return `earlier messages were replaced by a summary: ${step.summary}`;
  }
}

const deliveryText = ({ id, state, address, lastError }: DeliverySummary): string =>
  [`${id} ${state} (${address.target})`, lastError].filter((part) => part !== undefined).join(': ');

const sourceText = ({ kind, name }: RunSource): string => `${kind}:${name}`;
const time = (at: number): string => new Date(at).toISOString();
const timeOrNull = (at: number | undefined): string | null => (at === undefined ? null : time(at));

const summaryToWire = (run: RunSummary) => ({
  id: run.id,
  state: run.state,
  source: run.source,
  attempt: run.attempt,
  steps: run.steps,
  cancel_requested: run.cancelRequested,
  created_at: time(run.createdAt),
  started_at: timeOrNull(run.startedAt),
  ended_at: timeOrNull(run.endedAt),
  error: run.error ?? null,
});

const runToWire = (run: Run, steps: readonly Step[], deliveries: readonly DeliverySummary[]) => ({
  ...summaryToWire({ ...run, steps: steps.length }),
  available_at: time(run.availableAt),
  retries: run.retries,
  worker: run.owner ?? null,
  settings: {
    skills: run.settings.skills,
    toolsets: run.settings.toolsets,
    model: run.settings.model ?? null,
    timeout_s: run.settings.timeoutMs === undefined ? null : run.settings.timeoutMs / 1000,
    untrusted: run.settings.untrusted,
  },
  limit: run.limit ?? null,
  serial_key: run.serialKey ?? null,
  instructions: run.settings.instructions ?? null,
  prompt: run.prompt,
  answer: run.answer ?? null,
  recorded_steps: steps,
  deliveries: deliveries.map((one) => ({
    id: one.id,
    state: one.state,
    target: one.address.target,
    attempts: one.attempts,
    error: one.lastError ?? null,
  })),
});

function sourceFilter(text: string): { sourceKind: RunSource['kind']; sourceName?: string } {
  const [kind = '', ...name] = text.split(':');
  const sourceKind = oneOf(RUN_SOURCES, kind, '--source');
  return name.length > 0 ? { sourceKind, sourceName: name.join(':') } : { sourceKind };
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function sinceOf(text: string, now: number): number {
  const [, count, unit = ''] = /^(\d+)([mhd])$/.exec(text) ?? [];
  if (count !== undefined) return now - Number(count) * (UNITS_MS[unit] ?? 0);
  const at = Date.parse(text);
  if (Number.isNaN(at)) {
    throw new SvcError('usage', `--since does not understand "${text}".`, {
      help: 'Write 30m, 12h, 7d or a time like 2026-11-15T08:00:00Z.',
    });
  }
  return at;
}

function numberIn(text: string, option: string, most: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new SvcError('usage', `${option} must be a whole number from 1 to ${most}.`);
}

function oneOf<T extends string>(known: readonly T[], text: string, option: string): T {
  const found = known.find((name) => name === text);
  if (found !== undefined) return found;
  const meant = nearest(text, known);
  throw new SvcError('usage', `${option} does not know "${text}".`, {
    help: meant === undefined ? `Use one of: ${known.join(', ')}.` : `Did you mean ${meant}?`,
  });
}

const notFound = (id: string): SvcError =>
  new SvcError('not_found', `There is no run ${id}.`, { help: 'Find its id with `svc runs list`.' });
