// The slash commands of the chat, one line each. A command whose part is missing is left out.

import type { Skills } from '../agent/skills.ts';
import type { Browsers } from '../browser/supervisors.ts';
import { SvcError } from '../core/errors.ts';
import { nearest } from '../core/nearest.ts';
import { splitWords } from '../core/words.ts';
import type { JobAccess } from '../jobs/questions.ts';
import type { SlashCommand } from './slash-command.ts';
import { createBrowserCommand } from './slash-commands/browser.ts';
import { createCronCommand } from './slash-commands/cron.ts';
import { createHelp } from './slash-commands/help.ts';
import { createModelCommand, type ModelCommandDeps } from './slash-commands/model.ts';
import { newSession } from './slash-commands/new.ts';
import { quit } from './slash-commands/quit.ts';
import { createSkillsCommand } from './slash-commands/skills.ts';
import { stop } from './slash-commands/stop.ts';
import { createToolsCommand, type ToolsCommandDeps } from './slash-commands/tools.ts';

export interface SlashCommandDeps {
  model: ModelCommandDeps;
  tools: ToolsCommandDeps;
  skills: Pick<Skills, 'list'>;
  browsers: Browsers;
  jobs: JobAccess;
}

export function createSlashCommands(deps: SlashCommandDeps): SlashCommand[] {
  const commands: SlashCommand[] = [
    createHelp(() => commands),
    newSession,
    createModelCommand(deps.model),
    createToolsCommand(deps.tools),
    createSkillsCommand(deps.skills),
    createBrowserCommand(deps.browsers),
    createCronCommand(deps.jobs),
    stop,
    quit,
  ];
  return commands;
}

export interface SlashCall {
  command: SlashCommand;
  words: string[];
}

/** Reads a line that starts with a slash. Throws SvcError `usage` for what is no command. */
export function readSlashLine(line: string, commands: readonly SlashCommand[]): SlashCall {
  const words = splitWords(line.trim().slice(1));
  if (!words)
    throw new SvcError('usage', 'A quote is not closed.', { help: 'Close it, or write \\" for the mark itself.' });
  const [name = '', ...rest] = words;
  const found = commands.find((command) => command.name === name || command.aliases?.includes(name));
  if (found) return { command: found, words: rest };
  const meant = nearest(
    name,
    commands.flatMap((command) => [command.name, ...(command.aliases ?? [])]),
  );
  const help = meant === undefined ? '/help shows all commands.' : `Did you mean /${meant}?`;
  throw new SvcError('usage', `There is no command /${name}.`, { help });
}
