// The steps of a run as they are stored: enough to go on after a crash without asking or doing anything twice.

export interface ToolCall {
  id: string;
  name: string;
  /** Parsed arguments; `undefined` when the model wrote something that is not JSON (then `rawArguments` has it). */
  arguments?: unknown;
  rawArguments?: string;
  /** What the provider wants back with this call (signatures and the like); nobody else looks inside. */
  providerMetadata?: Record<string, unknown>;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
}

export type Step =
  /** The model answered; without tool calls its text is the final answer. */
  | { kind: 'model'; text: string; toolCalls: ToolCall[]; usage: Usage }
  /** Written before a tool starts. Without a later `tool_result` its outcome is unknown and it is not repeated. */
  | { kind: 'tool_started'; callId: string }
  | { kind: 'tool_result'; callId: string; output: string; failed: boolean }
  /** All messages but the last `keptMessages` were replaced by a summary because the context was full. */
  | { kind: 'compacted'; summary: string; keptMessages: number; usage: Usage };
