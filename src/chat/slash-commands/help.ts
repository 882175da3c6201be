// /help: every command with its use.

import type { SlashCommand } from '../slash-command.ts';

export const createHelp = (commands: () => readonly SlashCommand[]): SlashCommand => ({
  name: 'help',
  aliases: ['?'],
  summary: 'Show these commands.',
  usage: '/help',
  async run(_words, { print }) {
    const width = Math.max(...commands().map((command) => command.name.length)) + 1;
    const lines = commands().flatMap(({ name, summary, usage }) => [
      `${`/${name}`.padEnd(width)}  ${summary}`,
      ...(usage === `/${name}` ? [] : [`${' '.repeat(width)}  ${usage}`]),
    ]);
    const keys = 'Ctrl-C interrupts an answer, Ctrl-D leaves. Several pasted lines are one message.';
    print([...lines, '', keys].join('\n'));
    return undefined;
  },
});
