// The contract of a model: one call, one step. Failures are values; a model never throws for what a server may do.

import type { ToolCall, Usage } from '../core/step.ts';
import type { Message } from './message.ts';
import type { Tool } from './tool.ts';

export interface ModelRequest {
  system: string;
  messages: readonly Message[];
  tools: readonly Pick<Tool, 'name' | 'description' | 'input' | 'inputJsonSchema'>[];
  signal: AbortSignal;
  onText?(delta: string): void;
  onThinking?(delta: string): void;
  onNotice?(text: string): void;
}

export type ModelReply =
  | { kind: 'message'; text: string; toolCalls: ToolCall[]; usage: Usage }
  /** `contextFull`: the request was too long for the model; a shorter one may work. */
  | { kind: 'failed'; reason: string; transient: boolean; help?: string; contextFull?: boolean }
  | { kind: 'aborted' };

export interface Model {
  /** For people and logs, e.g. `qwen3 at http://localhost:11434`. Never holds a key. */
  readonly label: string;
  /** Tokens that fit in one request, when known. */
  readonly contextLength: number | undefined;
  /** May take as long as the clocks of timeouts.ts allow; ends soon after the signal aborts. Safe to call in parallel. */
  complete(request: ModelRequest): Promise<ModelReply>;
}
