// The agent: a prompt in, a final text out, by way of model and tool calls. It knows nothing of runs, stores or chats:
// every step is handed to `record` before the next begins, and recorded steps are taken up again after a crash.

import type { Step, Usage } from '../core/step.ts';
import type { Message } from './message.ts';
import type { Model } from './model.ts';
import type { Tool, ToolContext } from './tool.ts';

export interface AgentTask {
  context: ToolContext;
  system: string;
  /** The conversation so far; the last one is the prompt. */
  messages: readonly Message[];
  tools: readonly Tool[];
  model: Model;
  limits: { maxSteps: number; maxTokens?: number };
  /** Steps already stored by an earlier attempt, in order. */
  recorded: readonly Step[];
  /** Resolves when the step is durable. The agent waits for it before it goes on. */
  record(step: Step): Promise<void>;
  /** What a person watching sees as it happens. Must not throw. */
  onEvent?(event: AgentEvent): void;
}

export type AgentEvent =
  | { kind: 'text'; delta: string }
  | { kind: 'thinking'; delta: string }
  | { kind: 'tool_call'; id: string; name: string; arguments: unknown }
  | { kind: 'tool_result'; id: string; name: string; output: string; failed: boolean }
  /** Something a waiting person should know: a retry, a loading local server, a compaction. */
  | { kind: 'notice'; text: string };

export type AgentResult =
  | { kind: 'answer'; text: string; usage: Usage }
  /** `transient` failures (server unreachable, rate limits) may be tried again. */
  | { kind: 'failed'; reason: string; transient: boolean; help?: string }
  /** The signal aborted; recorded steps are enough to go on. */
  | { kind: 'interrupted' };
