// What happens in one run: the agent with the run's tools, skills and prompt. Text from outside goes into a fence; only
// the operator's own words stand outside it.

import { type AgentResult, runAgent } from '../agent/agent.ts';
import { systemText } from '../agent/instructions.ts';
import type { Model } from '../agent/model.ts';
import type { Tool, Trust } from '../agent/tool.ts';
import type { Logger } from '../core/log.ts';
import type { Run } from '../core/run.ts';
import type { Clock, NewId } from '../core/time.ts';
import { fenceUntrusted } from '../core/untrusted.ts';
import type { Execute, Execution } from './attempt.ts';

export interface ExecutorDeps {
  modelFor(name?: string): Model;
  /** The tools the run was granted and can have. */
  toolsFor(run: Run, trust: Trust): Promise<readonly Tool[]>;
  /** The texts of the run's skills, ready for the model. */
  skillsFor(run: Run): Promise<readonly string[]>;
  /** `agent.instructions` of the config. */
  instructions?: string;
  limits: { maxSteps: number; maxTokens?: number };
  /** Lets go of what the task held (a browser); `ended` says that it will not go on later. Must not throw. */
  endTask?(taskId: string, ended: boolean): Promise<void>;
  clock: Pick<Clock, 'now'>;
  newId: NewId;
  log: Logger;
}

const SILENT_MARKER = '[SILENT]';

export function createExecutor(deps: ExecutorDeps): Execute {
  return async (run, { steps, record, signal }) => {
    const { settings } = run;
    const trust: Trust = settings.untrusted ? 'untrusted' : 'person';
    const [tools, skills] = await Promise.all([deps.toolsFor(run, trust), deps.skillsFor(run)]);
    let ended = true;
    try {
      const result = await runAgent({
        context: { taskId: run.id, trust, grantedTools: tools.map(({ name }) => name), signal },
        system: systemText({
          now: deps.clock.now(),
          ...(deps.instructions !== undefined && { instructions: deps.instructions }),
          untrusted: settings.untrusted,
          silentMarker: settings.silentMarker,
          sections: skills,
        }),
        messages: [{ role: 'user', content: promptOf(run, deps.newId) }],
        tools,
        model: deps.modelFor(settings.model),
        limits: deps.limits,
        recorded: steps,
        record,
        onEvent: (event) => {
          if (event.kind === 'notice') deps.log.info(event.text, { run: run.id });
        },
      });
      ended = result.kind === 'answer' || (result.kind === 'failed' && !result.transient);
      return executionOf(run, result);
    } finally {
      await deps.endTask?.(run.id, ended);
    }
  };
}

function executionOf({ settings }: Run, result: AgentResult): Execution {
  if (result.kind === 'interrupted') return result;
  if (result.kind === 'failed') {
    const { reason, help, transient } = result;
    return { kind: 'failed', reason: help === undefined ? reason : `${reason} ${help}`, transient };
  }
  // The marker keeps an answer back where the run's settings allow it; a webhook's answer is always sent.
  const silent = settings.silentMarker && result.text.includes(SILENT_MARKER);
  return { kind: 'answer', text: result.text, silent };
}

function promptOf({ prompt, settings, source }: Run, newId: NewId): string {
  if (!settings.untrusted) return [settings.instructions, prompt].filter((part) => part !== undefined).join('\n\n');
  const what = source.kind === 'webhook' ? `an event that came in at "${source.name}"` : 'text that a program printed';
  const fenced = fenceUntrusted(prompt, newId('data'), what);
  // A job's prompt speaks of what its script printed, so that stands first.
  const parts = source.kind === 'job' ? [fenced, settings.instructions] : [settings.instructions, fenced];
  return parts.filter((part) => part !== undefined).join('\n\n');
}
