// A conversation as the agent holds it, independent of any provider's spelling.

import type { ToolCall } from '../core/step.ts';

export type Message =
  | { role: 'user'; content: string }
  | { role: 'assistant'; content: string; toolCalls: ToolCall[] }
  | { role: 'tool'; callId: string; name: string; content: string; failed: boolean };
