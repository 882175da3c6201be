// docs/cli.md: the help of every command, as the program prints it.

import type { Command } from 'commander';
import { buildProgram } from '../../src/cli/program.ts';

const WIDTH = 110;

export async function cliPage(): Promise<string> {
  const { stdin, stdout, stderr } = process;
  // A fixed home, so that no page depends on who generates it.
  const program = await buildProgram('*', { env: { SVC_HOME: '/home/you/.svc' }, cwd: '/', stdin, stdout, stderr });
  return [
    '<!-- Generated from src/cli by `npm run docs`. -->',
    '# Commands',
    '',
    'Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 failed, 2 wrong usage.',
    'Every listing has `--json`.',
    ...describe(program, ['svc']),
    '',
  ].join('\n');
}

function describe(command: Command, names: string[]): string[] {
  const subcommands = command.commands.filter((sub) => sub.name() !== 'help');
  return [
    '',
    `## \`${names.join(' ')}\``,
    '',
    '```text',
    helpOf(command),
    '```',
    ...subcommands.flatMap((sub) => describe(sub, [...names, sub.name()])),
  ];
}

function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({
    writeOut: (part) => {
      text += part;
    },
    getOutHelpWidth: () => WIDTH,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return text
    .trim()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}
