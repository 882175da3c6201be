// `svc cron`: scheduled jobs. What each action does is in jobs/; this file only names the options and prints.

import type { Command } from 'commander';
import { type JobWords, readJobWords } from '../../jobs/job-words.ts';
import type { CliContext, CommandModule } from '../command.ts';
import { defineNext, defineSimulate, defineWhy } from '../cron-look-ahead.ts';
import { defineRun } from '../cron-run.ts';
import { printJob, printJobs, printMade, printSlots } from '../cron-view.ts';
import { findGateway } from '../find-gateway.ts';
import { addExamples } from '../listing.ts';
import { wholeNumber } from '../numbers.ts';
import { withApp } from '../with-app.ts';

const MAX_LISTED = 10_000;

export const cron: CommandModule = {
  define(command, context) {
    command.description('Scheduled jobs: a prompt that runs by itself, and where its answer goes.');
    addExamples(command, [
      'svc cron create "0 9 * * 1-5" "Summarise the open pull requests" --deliver telegram',
      'svc cron create "every 15m" "Tell me what is wrong" --script check-disk.sh',
      'svc cron create "in 2h" "Remind me to call Ann" --deliver local',
      'svc cron why morning-report 09:00',
    ]);
    defineCreate(command.command('create').alias('add'), context);
    defineList(command.command('list').alias('ls'), context);
    defineShow(command.command('show'), context);
    defineEdit(command.command('edit'), context);
    definePause(command.command('pause'), context);
    defineResume(command.command('resume'), context);
    defineRun(command.command('run'), context);
    defineRemove(command.command('remove').alias('rm'), context);
    defineRuns(command.command('runs'), context);
    defineWhy(command.command('why'), context);
    defineNext(command.command('next'), context);
    defineSimulate(command.command('simulate'), context);
  },
};

type Options = JobWords & { json?: true };

/** The options that making and changing a job share. */
function jobOptions(command: Command): Command {
  return command
    .option('--name <text>', 'a name of your own; the beginning of the prompt otherwise')
    .option('--deliver <target>', 'where answers go: local, log, a target, target:chat:thread; several with commas')
    .option('--skills <list>', 'skills to load, separated by commas')
    .option('--script <path>', 'run this first; its output is put in front of the prompt')
    .option('--tz <zone>', 'time zone of the schedule, e.g. Europe/Berlin')
    .option('--grace <time>', 'how late a missed time is still made up, e.g. 30m; half the period otherwise')
    .option('--overlap <rule>', 'when the last run is not done: skip, queue or parallel')
    .option('--timeout <time>', 'time limit of a run, e.g. 10m')
    .option('--retries <number>', 'how often a transient failure is tried again')
    .option('--expect-every <time>', 'raise an alarm when there was no success for this long, e.g. 26h')
    .option('--model <name>', 'another model for this job')
    .option('--toolsets <list>', 'toolsets or tools instead of svc-cron');
}

function defineCreate(command: Command, context: CliContext): void {
  jobOptions(command)
    .description('Make a job.')
    .argument(
      '<schedule>',
      'every 15m, every 6h, every 2d, in 30m, "0 9 * * 1-5", @daily, or a time such as 2027-01-31T18:00',
    )
    .argument('<prompt>', 'what the agent is to do')
    .option('--disabled', 'make it paused')
    .option('--json', 'print JSON');
  addExamples(command, [
    'svc cron create "0 9 * * 1-5" "Summarise my open issues" --name report --tz Europe/Berlin',
    'svc cron create "every 5m" "Say what needs attention" --script check.sh --expect-every 1h',
    'svc cron create "2027-01-31T18:00" "Remind me of the backup" --deliver sms:+4915112345678',
  ]);
  command.action((schedule: string, prompt: string, options: Options) =>
    withApp(context, async (app) => {
      const { jobs } = await app.jobs();
      const draft = readJobWords({ ...options, schedule, prompt });
      const job = await jobs.create({ ...draft, schedule, prompt }, { kind: 'person', cwd: context.cwd });
      printMade(context, 'Made', job, { json: options.json === true, now: app.clock.now() });
      for (const warning of await jobs.warnings(job)) context.stderr.write(`Warning: ${warning}\n`);
      if (!options.json && job.enabled && findGateway(app.paths) === undefined) {
        context.stderr.write('No gateway is running, so nothing fires yet. Start it: svc gateway\n');
      }
    }),
  );
}

function defineEdit(command: Command, context: CliContext): void {
  jobOptions(command)
    .description('Change a job; what is not named stays. `none` takes an option away.')
    .argument('<job>', 'id or name')
    .option('--schedule <schedule>', 'another schedule')
    .option('--prompt <text>', 'another prompt')
    .option('--json', 'print JSON');
  addExamples(command, [
    'svc cron edit report --schedule "0 8 * * 1-5"',
    'svc cron edit report --skills none --deliver telegram:12345',
  ]);
  command.action((key: string, options: Options) =>
    withApp(context, async (app) => {
      const { jobs } = await app.jobs();
      const job = await jobs.edit(key, readJobWords(options), { kind: 'person', cwd: context.cwd });
      printMade(context, 'Changed', job, { json: options.json === true, now: app.clock.now() });
      for (const warning of await jobs.warnings(job)) context.stderr.write(`Warning: ${warning}\n`);
    }),
  );
}

function defineList(command: Command, context: CliContext): void {
  command
    .description('List the jobs by name.')
    .option('--limit <number>', `how many at most, up to ${MAX_LISTED}`, '200')
    .option('--after <name>', 'go on behind this job')
    .option('--json', 'print JSON');
  addExamples(command, ['svc cron list', 'svc cron list --json']);
  command.action(({ limit, after, json }: { limit: string; after?: string; json?: true }) =>
    withApp(context, async (app) => {
      const { jobs } = await app.jobs();
      const filter = { limit: wholeNumber(limit, '--limit', MAX_LISTED), ...(after !== undefined && { after }) };
      printJobs(context, await jobs.list(filter), { json: json === true, now: app.clock.now() });
    }),
  );
}

function defineShow(command: Command, context: CliContext): void {
  command.description('Show one job.').argument('<job>', 'id or name').option('--json', 'print JSON');
  addExamples(command, ['svc cron show report']);
  command.action((key: string, { json }: { json?: true }) =>
    withApp(context, async (app) => {
      const { jobs } = await app.jobs();
      const job = await jobs.find(key);
      printJob(context, job, { json: json === true, now: app.clock.now(), slots: await jobs.slots(job, 5) });
    }),
  );
}

function definePause(command: Command, context: CliContext): void {
  command
    .description('Pause a job. Due times that pass are recorded as paused when it is resumed.')
    .argument('<job>', 'id or name')
    .option('--reason <text>', 'a note for later', 'Paused by hand.')
    .option('--json', 'print JSON');
  addExamples(command, ['svc cron pause report --reason "on holiday"']);
  command.action((key: string, { reason, json }: { reason: string; json?: true }) =>
    withApp(context, async (app) => {
      const job = await (await app.jobs()).jobs.pause(key, reason);
      printMade(context, 'Paused', job, { json: json === true, now: app.clock.now() });
    }),
  );
}

function defineResume(command: Command, context: CliContext): void {
  command.description('Let a paused job go on.').argument('<job>', 'id or name').option('--json', 'print JSON');
  addExamples(command, ['svc cron resume report']);
  command.action((key: string, { json }: { json?: true }) =>
    withApp(context, async (app) => {
      const job = await (await app.jobs()).jobs.resume(key);
      printMade(context, 'Resumed', job, { json: json === true, now: app.clock.now() });
    }),
  );
}

function defineRemove(command: Command, context: CliContext): void {
  command
    .description('Remove a job with its history. A run that it started goes on.')
    .argument('<job>', 'id or name')
    .option('--json', 'print JSON');
  addExamples(command, ['svc cron remove report']);
  command.action((key: string, { json }: { json?: true }) =>
    withApp(context, async (app) => {
      const job = await (await app.jobs()).jobs.remove(key);
      if (json) context.stdout.write(`${JSON.stringify({ removed: job.id, name: job.name })}\n`);
      else context.stdout.write(`Removed "${job.name}" (${job.id}).\n`);
    }),
  );
}

function defineRuns(command: Command, context: CliContext): void {
  command
    .description('List what became of the due times of a job, newest first.')
    .argument('<job>', 'id or name')
    .option('--limit <number>', `how many at most, up to ${MAX_LISTED}`, '20')
    .option('--json', 'print JSON');
  addExamples(command, ['svc cron runs report', 'svc cron runs report --limit 100 --json']);
  command.action((key: string, { limit, json }: { limit: string; json?: true }) =>
    withApp(context, async (app) => {
      const { jobs } = await app.jobs();
      const job = await jobs.find(key);
      const slots = await jobs.slots(job, wholeNumber(limit, '--limit', MAX_LISTED));
      printSlots(context, job, slots, json === true);
    }),
  );
}
