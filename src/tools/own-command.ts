// The commands of `svc` that an agent in a person's chat may run from its terminal although the sandbox has no home:
// those of webhook subscriptions, called alone on a line. They are run without a shell.

import { splitWords } from '../core/words.ts';

const ALLOWED = new Set(['subscribe', 'list', 'remove', 'test']);
// Anything a shell would interpret outside of quotes; such a line is for the shell, not for us.
const SHELL_POWERS = /[|&;<>()$`\n*?[\]{}~#!]/;

/** The words after `svc`, or undefined when the line is anything else. */
export function ownCommand(command: string): string[] | undefined {
  const line = command.trim().replace(/\\\n\s*/g, ' ');
  if (!line.startsWith('svc ')) return undefined;
  const words = splitWords(line);
  if (!words || SHELL_POWERS.test(outsideOfQuotes(line))) return undefined;
  const [, group, action] = words;
  if (group !== 'webhook' || action === undefined || !ALLOWED.has(action)) return undefined;
  return words.slice(1);
}

/** What is left when quoted texts are taken out; inside double quotes a shell would still expand `$` and backticks. */
function outsideOfQuotes(line: string): string {
  return line.replace(/'[^']*'/g, '').replace(/"(?:[^"\\$`]|\\.)*"/gs, '');
}
