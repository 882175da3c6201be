// What happens in one run: the agent with the run's tools, skills and prompt. Text from outside goes into a fence; only
// the operator's own words stand outside it.

import { runAgent } from '../agent/agent.ts';
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
  /** Lets go of what the task held (a browser, a work folder). Must not throw. */
  endTask?(taskId: string): Promise<void>;
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
      if (result.kind === 'answer') return answerOf(run, result.text);
      if (result.kind === 'interrupted') return result;
      const { reason, help, transient } = result;
      return { kind: 'failed', reason: help === undefined ? reason : `${reason} ${help}`, transient };
    } finally {
      await deps.endTask?.(run.id);
    }
  };
}

/** The marker keeps an answer back where the run's settings allow it; a webhook's answer is always sent. */
const answerOf = ({ settings }: Run, text: string): Execution => ({
  kind: 'answer',
  text,
  silent: settings.silentMarker && text.includes(SILENT_MARKER),
});

function promptOf({ prompt, settings, source }: Run, newId: NewId): string {
  if (!settings.untrusted) return [settings.instructions, prompt].filter((part) => part !== undefined).join('\n\n');
  const what = source.kind === 'webhook' ? `an event that came in at "${source.name}"` : 'text that a program printed';
  const fenced = fenceUntrusted(prompt, newId('data'), what);
  return settings.instructions === undefined ? fenced : `${settings.instructions}\n\n${fenced}`;
}
