// terminal: one shell command. In the sandbox always, except in a person's own chat that asked for the machine itself.

import { z } from 'zod';
import { defineTool, type Tool, type ToolContext, type ToolResult, type Trust } from '../agent/tool.ts';
import { isChatTask } from '../core/task.ts';
import type { ProcessOutcome } from '../system/process.ts';
import type { Sandbox, ShellOptions } from '../system/sandbox.ts';
import { ownCommand } from './own-command.ts';
import type { WorkFolders } from './work-folders.ts';

export interface TerminalDeps {
  folders: WorkFolders;
  sandbox: Sandbox;
  settings: { sandbox: 'bubblewrap' | 'none'; network: boolean; timeoutMs: number; maxOutputBytes: number };
  /** Runs a command on the machine itself, as its user. */
  runUnconfined(options: ShellOptions): Promise<ProcessOutcome>;
  /** Runs `svc` itself with these words and `FROM_CHAT` set; absent where that makes no sense. */
  runSvc?(words: readonly string[], options: { folder: string; signal: AbortSignal }): Promise<ProcessOutcome>;
}

/** Where the commands of a task run. */
type Place = 'sandbox' | 'machine';

export function createTerminal(deps: TerminalDeps): Tool {
  const placeOf = (task: { trust: Trust; taskId: string }): Place =>
    deps.settings.sandbox === 'none' && isOwnChat(task) ? 'machine' : 'sandbox';

  return defineTool({
    name: 'terminal',
    description:
      'Runs a shell command in the work folder and returns what it printed. Each call is a fresh shell: no state but the ' +
      'files stays, and nothing keeps running in the background. Usually there is no network.',
    input: z.object({
      command: z.string().min(1).max(100_000).describe('The command, as for bash -c.'),
      timeout_s: z
        .number()
        .positive()
        .optional()
        .describe('Ends the command after this; at most the configured limit.'),
    }),
    toolsets: ['terminal', 'core'],
    parallel: false,
    async hidden(task) {
      if (placeOf(task) === 'machine') return undefined;
      const problem = await deps.sandbox.problem();
      if (problem === undefined) return undefined;
      const help = isOwnChat(task)
        ? 'Install bubblewrap, or set terminal.sandbox to none to run commands unprotected in your own chat.'
        : 'Install bubblewrap: only your own chat may run commands without a sandbox.';
      return `${problem} ${help}`;
    },
    async run({ command, timeout_s: asked }, context) {
      const { settings } = deps;
      const timeoutMs = Math.min((asked ?? Number.POSITIVE_INFINITY) * 1000, settings.timeoutMs);
      const folder = await deps.folders.of(context.taskId);
      const own = isOwnChat(context) ? ownCommand(command) : undefined;
      if (own?.kind === 'refused') return { output: own.reason, failed: true };
      if (own && deps.runSvc) {
        return resultOf(await deps.runSvc(own.words, { folder, signal: context.signal }), timeoutMs);
      }
      const options: ShellOptions = {
        command,
        folder,
        timeoutMs,
        maxOutputBytes: settings.maxOutputBytes,
        signal: context.signal,
      };
      if (placeOf(context) === 'machine') return resultOf(await deps.runUnconfined(options), timeoutMs);
      const network = settings.network && isOwnChat(context);
      return resultOf(await deps.sandbox.run({ ...options, network }), timeoutMs);
    },
  });
}

const isOwnChat = ({ trust, taskId }: Pick<ToolContext, 'trust' | 'taskId'>): boolean =>
  trust === 'person' && isChatTask(taskId);

function resultOf(outcome: ProcessOutcome, timeoutMs: number): ToolResult {
  if (outcome.kind === 'not_started')
    return { output: `The command could not be started: ${outcome.reason}`, failed: true };
  const printed = [outcome.stdout.trimEnd(), outcome.stderr.trimEnd()].filter((text) => text !== '').join('\n');
  const note = noteOf(outcome, timeoutMs);
  const output = [printed, note].filter((text) => text !== '').join('\n') || '(no output)';
  return outcome.kind === 'exited' && outcome.code === 0 ? { output } : { output, failed: true };
}

function noteOf(outcome: Exclude<ProcessOutcome, { kind: 'not_started' }>, timeoutMs: number): string {
  switch (outcome.kind) {
    case 'exited':
      return outcome.code === 0 ? '' : `[exit code ${outcome.code}]`;
    case 'killed':
      return `[ended by ${outcome.signal}]`;
    case 'timed_out':
      return `[ended after ${timeoutMs / 1000} s, with everything it had started]`;
    case 'aborted':
      return '[interrupted]';
    case 'flooded':
      return '[ended because it printed too much]';
  }
}
