// argv in, exit code out. Only the called command is loaded; every error becomes one message with the next step.

import type { Command as CommanderCommand } from 'commander';
import { resolveHome } from '../config/paths.ts';
import { SvcError } from '../core/errors.ts';
import { nearest } from '../core/nearest.ts';
import { checkHome } from '../system/files.ts';
import type { CliContext } from './command.ts';
import { type CommandEntry, commands } from './registry.ts';
import { VERSION } from './version.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

/** Runs one command line. Never throws. */
export async function runProgram(argv: readonly string[], context: CliContext): Promise<number> {
  try {
    const program = await buildProgram(argv[0], context);
    await program.parseAsync(argv.length === 0 ? ['--help'] : argv, { from: 'user' });
    return 0;
  } catch (error) {
    return report(error, context);
  }
}

/** The program with the called command fully described and the others by name only; all of them when `called` is `*`. */
export async function buildProgram(called: string | undefined, context: CliContext): Promise<CommanderCommand> {
  const { Command } = await import('commander');
  const program = new Command('svc')
    .description(
      'An agent service for your own machine: webhooks, scheduled jobs, a supervised browser and local models.',
    )
    .version(VERSION, '-V, --version', 'print the version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
    })
    .showHelpAfterError('Add --help to see how it is used.')
    // A file in its place would read as an empty home.
    .hook('preAction', () => checkHome(resolveHome(context.env)))
    .addHelpText('after', '\nEvery command has --help with examples. Settings: svc config path');
  const wanted = called === 'help' ? '*' : called;
  for (const entry of commands) {
    const command = program.command(entry.name).description(entry.summary);
    if (wanted === '*' || wanted === entry.name) await define(entry, command, context);
  }
  if (called !== undefined && called !== '*' && called !== 'help' && !called.startsWith('-')) requireKnown(called);
  return program;
}

async function define(entry: CommandEntry, command: CommanderCommand, context: CliContext): Promise<void> {
  const module = await entry.load();
  module.define(command, context);
}

function requireKnown(called: string): void {
  const known = commands.map((entry) => entry.name);
  if (known.includes(called)) return;
  const meant = nearest(called, known);
  throw new SvcError('usage', `There is no command "${called}".`, {
    help: meant === undefined ? 'svc --help lists all commands.' : `Did you mean: svc ${meant}`,
  });
}

function report(error: unknown, { stderr, env }: CliContext): number {
  if (isCommanderError(error)) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  if (error instanceof SvcError) {
    stderr.write(`svc: ${error.message}\n`);
    if (error.help !== undefined) stderr.write(`${indent(error.help)}\n`);
    if (env.SVC_DEBUG && error.cause !== undefined) stderr.write(`${describe(error.cause)}\n`);
    return error.code === 'usage' ? EXIT_USAGE : EXIT_FAILED;
  }
  stderr.write(`svc: something went wrong that should not: ${env.SVC_DEBUG ? describe(error) : String(error)}\n`);
  if (!env.SVC_DEBUG) stderr.write('  Run it again with SVC_DEBUG=1 to see where.\n');
  return EXIT_FAILED;
}

/** Commander has written its message already. */
function isCommanderError(error: unknown): error is Error & { exitCode: number } {
  return (
    error instanceof Error && 'exitCode' in error && 'code' in error && String(error.code).startsWith('commander.')
  );
}

const describe = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

const indent = (text: string): string => text.replaceAll(/^/gm, '  ');
