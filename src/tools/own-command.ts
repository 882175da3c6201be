// The commands of `svc` that an agent in a person's chat may run from its terminal although the sandbox has no home:
// those of webhook subscriptions, called alone on a line, with the options listed here. They are run without a shell.

import { splitWords } from '../core/words.ts';

/** Set for such a command: it may then touch nothing but what was made in a chat. */
export const FROM_CHAT = 'SVC_FROM_CHAT';

export type OwnCommand = { kind: 'run'; words: string[] } | { kind: 'refused'; reason: string };

interface Allowed {
  /** Options that take the next word. */
  values: readonly string[];
  flags: readonly string[];
}

// Not here, because they would lead out of the sandbox or weaken what a person set up: an address to send to, secrets
// from elsewhere, new secrets for senders that know the old one.
const ALLOWED: ReadonlyMap<string, Allowed> = new Map([
  [
    'subscribe',
    {
      values: [
        ...['--events', '--prompt', '--skills', '--description', '--scheme'],
        ...['--deliver', '--deliver-chat-id', '--deliver-thread-id', '--deliver-extra'],
      ],
      flags: ['--deliver-only', '--agent', '--disable', '--enable', '--json'],
    },
  ],
  ['list', { values: [], flags: ['--json'] }],
  ['remove', { values: [], flags: [] }],
  ['test', { values: ['--payload', '--event'], flags: ['--no-wait', '--json'] }],
]);
const HELP = ['--help', '-h'];
// Anything a shell would interpret outside of quotes; such a line is for the shell, not for us.
const SHELL_POWERS = /[|&;<>()$`\n*?[\]{}~#!]/;

/** The words after `svc`, or why they are refused; undefined when the line is anything else. */
export function ownCommand(command: string): OwnCommand | undefined {
  const line = command.trim().replace(/\\\n\s*/g, ' ');
  if (!line.startsWith('svc ')) return undefined;
  const words = splitWords(line);
  if (!words || SHELL_POWERS.test(outsideOfQuotes(line))) return undefined;
  const [, group, action = '', ...rest] = words;
  const allowed = ALLOWED.get(action);
  if (group !== 'webhook' || allowed === undefined) return undefined;
  const option = foreignOption(rest, allowed);
  if (option === undefined) return { kind: 'run', words: words.slice(1) };
  const offered = [...allowed.values, ...allowed.flags].join(', ') || 'none';
  const reason = `${option} is not available here: only the user can run that, in a shell. Options that you have: ${offered}.`;
  return { kind: 'refused', reason };
}

/** The first option that is not allowed. Reads the words as the command itself does. */
function foreignOption(words: readonly string[], { values, flags }: Allowed): string | undefined {
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? '';
    const [name = ''] = word.split('=', 1);
    if (values.includes(name)) {
      if (name === word) index++;
    } else if (word.startsWith('-') && !flags.includes(word) && !HELP.includes(word)) return name;
  }
  return undefined;
}

/** What is left when quoted texts are taken out; inside double quotes a shell would still expand `$` and backticks. */
function outsideOfQuotes(line: string): string {
  return line.replace(/'[^']*'/g, '').replace(/"(?:[^"\\$`]|\\.)*"/gs, '');
}
