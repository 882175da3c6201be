// `svc gateway`: starts, stops and shows the gateway process.

import { existsSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { homePaths, resolveHome } from '../../config/paths.ts';
import { SvcError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import type { CliContext, CommandModule } from '../command.ts';
import { findGateway } from '../find-gateway.ts';
import { startInBackground, stopGateway } from '../gateway-control.ts';
import { addExamples, printDetails, printJson } from '../listing.ts';
import { defineSetup } from './gateway-setup.ts';

export const gateway: CommandModule = {
  define(command, context) {
    const paths = homePaths(resolveHome(context.env));
    command.description('Start the gateway in the background; it receives webhooks, runs jobs and delivers answers.');
    addExamples(command, [
      'svc gateway              # start, print its address, return',
      'svc gateway run          # stay in the foreground and show the log',
      'svc gateway logs -f      # follow the log',
      'svc gateway stop',
    ]);
    // Without this a misspelt subcommand would be told as one argument too many.
    command.allowExcessArguments().action(async () => {
      refuseUnknown(command);
      await startOnce(context);
    });

    addExamples(command.command('start').description('The same as `svc gateway`.'), ['svc gateway start']).action(() =>
      startOnce(context),
    );

    const run = command.command('run').description('Run the gateway in the foreground with its log on the screen.');
    run.addOption(new Option('--quiet', 'write the log to the file only').hideHelp());
    addExamples(run, ['svc gateway run', 'WEBHOOK_ENABLED=true WEBHOOK_PORT=9000 svc gateway run']);
    run.action(async ({ quiet }: { quiet?: true }) => {
      const { runGateway } = await import('../run-gateway.ts');
      await runGateway(context, { quiet: quiet === true });
    });

    addExamples(command.command('stop').description('Stop the gateway; queued runs stay queued.'), [
      'svc gateway stop',
    ]).action(async () => {
      const stopped = await stopGateway(paths);
      context.stdout.write(stopped ? 'The gateway has stopped.\n' : 'The gateway was not running.\n');
    });

    addExamples(command.command('restart').description('Stop the gateway if it runs, then start it.'), [
      'svc gateway restart',
    ]).action(async () => {
      await stopGateway(paths);
      await start(context);
    });

    defineSetup(command.command('setup'), context);
    defineStatus(command.command('status'), context);
    defineLogs(command.command('logs'), context);
  },
};

function refuseUnknown(command: Command): void {
  const [word] = command.args;
  if (word === undefined) return;
  const meant = nearest(
    word,
    command.commands.map((known) => known.name()),
  );
  throw new SvcError('usage', `There is no command "gateway ${word}".`, {
    help: meant === undefined ? 'svc gateway --help lists them.' : `Did you mean: svc gateway ${meant}`,
  });
}

async function startOnce(context: CliContext): Promise<void> {
  const running = findGateway(homePaths(resolveHome(context.env)));
  if (running !== undefined) {
    throw new SvcError('gateway_running', `The gateway is already running at ${running.url} (pid ${running.pid}).`, {
      help: 'Replace it with `svc gateway restart`.',
    });
  }
  await start(context);
}

async function start(context: CliContext): Promise<void> {
  const paths = homePaths(resolveHome(context.env));
  const { url, pid } = await startInBackground(paths, context.env);
  printDetails(context, [
    ['The gateway is running', url],
    ['pid', pid],
    ['log', paths.gatewayLog],
  ]);
}

function defineStatus(command: Command, context: CliContext): void {
  command
    .description('Show whether the gateway runs and how much work waits.')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: true }) => {
      const paths = homePaths(resolveHome(context.env));
      const state = findGateway(paths);
      const counts = await storedWork(context);
      if (json) printJson(context, { running: state !== undefined, ...state, log: paths.gatewayLog, ...counts });
      else {
        printDetails(context, [
          ['gateway', state === undefined ? 'not running' : `running at ${state.url}`],
          ['pid', state?.pid],
          ['since', state?.started_at],
          ['version', state?.version],
          ['runs', countsText(counts.runs)],
          ['deliveries', countsText(counts.deliveries)],
          ['log', paths.gatewayLog],
        ]);
      }
      if (state === undefined) {
        throw new SvcError('gateway_not_running', 'The gateway is not running.', { help: '`svc gateway` starts it.' });
      }
    });
  addExamples(command, ['svc gateway status', 'svc gateway status --json']);
}

async function storedWork(context: CliContext) {
  const [{ withApp }, { countWork }] = await Promise.all([import('../with-app.ts'), import('../../work-counts.ts')]);
  return withApp(context, async (app) => {
    const { config } = await app.config();
    // Asking must not create a database where nothing has run yet.
    if (config.database.url === undefined && !existsSync(app.paths.database)) return { runs: {}, deliveries: {} };
    return countWork(await app.store());
  });
}

const countsText = (counts: Readonly<Partial<Record<string, number>>>): string =>
  Object.entries(counts)
    .map(([state, count]) => `${count} ${state}`)
    .join(', ') || 'none';

function defineLogs(command: Command, context: CliContext): void {
  command
    .description('Show the log of the gateway.')
    .option('-f, --follow', 'go on as lines are written')
    .option('-n, --lines <count>', 'how many lines to begin with', '50')
    .option('--json', 'print the lines as they are stored')
    .action(async ({ follow, lines, json }: { follow?: true; lines: string; json?: true }) => {
      const { showLog } = await import('../show-log.ts');
      await showLog(context, { follow: follow === true, lines, json: json === true });
    });
  addExamples(command, ['svc gateway logs', 'svc gateway logs -f', 'svc gateway logs -n 500 --json']);
}
