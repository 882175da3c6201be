// `svc cron why`, `next` and `simulate`: what happened, what is to come, and what it would look like.

import type { Command } from 'commander';
import { SvcError } from '../core/errors.ts';
import type { Job } from '../core/job.ts';
import { type Simulation, simulate } from '../jobs/simulate.ts';
import { slotToWire } from '../jobs/slot-wire.ts';
import { readSpan, showSpan } from '../jobs/span.ts';
import { showInstant } from '../jobs/zone.ts';
import type { CliContext } from './command.ts';
import { addExamples, printJson, printListing } from './listing.ts';
import { wholeNumber } from './numbers.ts';
import { withApp } from './with-app.ts';

const MAX_NEXT = 1000;
const MAX_DAYS = 366;
const MAX_SIMULATED = 1000;
const SHOWN_NOTES = 10;

export function defineWhy(command: Command, context: CliContext): void {
  command
    .description('Tell what became of a due time, from what is stored.')
    .argument('<job>', 'id or name')
    .argument('[time]', '"2026-03-29 02:30" in the zone of the job, 09:00, or an ISO time; the last due time otherwise')
    .option('--json', 'print JSON');
  addExamples(command, ['svc cron why report', 'svc cron why report 09:00', 'svc cron why report "2026-03-29 02:30"']);
  command.action((key: string, time: string | undefined, { json }: { json?: true }) =>
    withApp(context, async (app) => {
      const { job, slot, run, sentences } = await (await app.jobs()).questions.why(key, time);
      if (json) {
        const runs = run ? { run: { id: run.id, state: run.state, error: run.error ?? null } } : {};
        printJson(context, { job: job.id, name: job.name, slot: slot ? slotToWire(slot) : null, ...runs, sentences });
      } else context.stdout.write(`${job.name}\n${sentences.map((sentence) => `  ${sentence}\n`).join('')}`);
    }),
  );
}

export function defineNext(command: Command, context: CliContext): void {
  command
    .description('Preview a schedule, or the next due times of a job.')
    .argument('<schedule or job>', 'a schedule, or the id or name of a job')
    .option('--tz <zone>', 'time zone of the schedule')
    .option('-n, --count <number>', `how many, up to ${MAX_NEXT}`, '10')
    .option('--json', 'print JSON');
  addExamples(command, ['svc cron next "0 2 * * *" --tz Europe/Berlin', 'svc cron next report -n 3']);
  command.action((text: string, options: { tz?: string; count: string; json?: true }) =>
    withApp(context, async (app) => {
      const count = wholeNumber(options.count, '--count', MAX_NEXT);
      const now = app.clock.now();
      const zone = options.tz === undefined ? {} : { tz: options.tz };
      const { tz, dues } = await (await app.jobs()).questions.preview(text, { ...zone, count });
      printListing(context, dues, {
        json: options.json === true,
        columns: [
          { title: `DUE (${tz})`, value: ({ at }) => showInstant(tz, at) },
          { title: 'IN', value: ({ at }) => showSpan(at - now) },
          { title: 'NOTE', value: ({ note }) => note },
        ],
        toJson: ({ at, note }) => ({
          due_at: new Date(at).toISOString(),
          local: showInstant(tz, at),
          note: note ?? null,
        }),
        empty: 'Nothing more is due.',
      });
    }),
  );
}

export function defineSimulate(command: Command, context: CliContext): void {
  command
    .description('Play the coming days on a clock of its own: firings, overlaps, clock changes, load per hour.')
    .argument('[job...]', 'ids or names; all jobs that are not paused otherwise')
    .option('--days <number>', `how many days, up to ${MAX_DAYS}`, '7')
    .option('--run-time <time>', 'how long a run takes', '2m')
    .option('--workers <number>', 'runs at the same time; runs.concurrency otherwise')
    .option('--json', 'print JSON');
  addExamples(command, ['svc cron simulate --days 30', 'svc cron simulate report --run-time 2h']);
  command.action((keys: string[], options: { days: string; runTime: string; workers?: string; json?: true }) =>
    withApp(context, async (app) => {
      const { jobs } = await app.jobs();
      const { config } = await app.config();
      const chosen =
        keys.length > 0
          ? await Promise.all(keys.map((key) => jobs.find(key)))
          : await jobs.list({ limit: MAX_SIMULATED });
      if (keys.length === 0 && chosen.length === MAX_SIMULATED) {
        context.stderr.write(`Only the first ${MAX_SIMULATED} jobs by name are played.\n`);
      }
      const runMs = readSpan(options.runTime);
      if (runMs === undefined || runMs === 0) {
        throw new SvcError('usage', '--run-time takes a length of time.', { help: 'E.g. --run-time 90s' });
      }
      const simulation = await simulate({
        jobs: keys.length > 0 ? chosen : chosen.filter(({ enabled }) => enabled),
        from: app.clock.now(),
        days: wholeNumber(options.days, '--days', MAX_DAYS),
        runMs,
        workers:
          options.workers === undefined
            ? Math.max(1, config.runs.concurrency)
            : wholeNumber(options.workers, '--workers', 1000),
      });
      if (options.json) printJson(context, simulationToWire(simulation));
      else printSimulation(context, simulation);
    }),
  );
}

function printSimulation(context: CliContext, simulation: Simulation): void {
  printListing(context, simulation.jobs, {
    json: false,
    columns: [
      { title: 'JOB', value: ({ job }) => job.name },
      { title: 'SCHEDULE', value: ({ job }) => job.schedule },
      { title: 'DUE', value: ({ slots }) => slots.length },
      { title: 'SKIPPED', value: ({ skipped }) => skipped },
      { title: 'FIRST', value: ({ job, slots }) => (slots[0] ? showInstant(job.tz, slots[0].dueAt) : 'never') },
      { title: 'LAST', value: ({ job, slots }) => lastText(job, slots.at(-1)?.dueAt) },
    ],
    toJson: () => undefined,
    empty: 'No jobs to play.',
  });
  if (simulation.jobs.length === 0) return;
  const notes = simulation.jobs.flatMap(({ job, slots }) =>
    slots.flatMap(({ dueAt, note }) =>
      note === undefined ? [] : [`${showInstant(job.tz, dueAt)} ${job.name}: ${note}`],
    ),
  );
  const { stdout } = context;
  if (notes.length > 0)
    stdout.write(
      `\nClock changes:\n${notes
        .slice(0, SHOWN_NOTES)
        .map((note) => `  ${note}\n`)
        .join('')}`,
    );
  if (notes.length > SHOWN_NOTES) stdout.write(`  … and ${notes.length - SHOWN_NOTES} more\n`);
  const most = Math.max(1, ...simulation.perHour);
  stdout.write('\nRuns by hour of the day:\n');
  for (const [hour, runs] of simulation.perHour.entries()) {
    const bar = '#'.repeat(Math.round((runs / most) * 40));
    stdout.write(`  ${String(hour).padStart(2, '0')}  ${String(runs).padStart(6)}  ${bar}`.trimEnd().concat('\n'));
  }
  const { busiest } = simulation;
  if (busiest) {
    const at = new Date(busiest.hourAt).toISOString().slice(0, 16);
    stdout.write(
      `\nBusiest hour: ${busiest.runs} runs from ${at}Z. Longest wait for a worker: ${showSpan(simulation.longestWaitMs)}.\n`,
    );
  }
  if (simulation.cut)
    stdout.write(`Stopped early, at ${new Date(simulation.until).toISOString()}: too many due times.\n`);
}

const lastText = (job: Job, at: number | undefined): string => (at === undefined ? 'never' : showInstant(job.tz, at));

const simulationToWire = (simulation: Simulation): unknown => ({
  from: new Date(simulation.from).toISOString(),
  until: new Date(simulation.until).toISOString(),
  cut: simulation.cut,
  jobs: simulation.jobs.map(({ job, slots, skipped }) => ({
    id: job.id,
    name: job.name,
    schedule: job.schedule,
    due: slots.length,
    skipped,
    slots: slots.map(slotToWire),
  })),
  runs_per_hour_of_day: simulation.perHour,
  busiest_hour:
    simulation.busiest === undefined
      ? null
      : { hour_at: new Date(simulation.busiest.hourAt).toISOString(), runs: simulation.busiest.runs },
  longest_wait_s: simulation.longestWaitMs / 1000,
});
