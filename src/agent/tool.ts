// The contract of a tool: what the model sees, who may have it, and what it does.

import type { z } from 'zod';
import type { Address } from '../core/address.ts';

/** Who is behind a task. `untrusted` tasks hold text from outside and get sandboxed or hidden versions of sharp tools. */
export type Trust = 'person' | 'untrusted';

export interface ToolContext {
  /** One task is one run or one chat session; browser supervisors and work folders belong to it. */
  taskId: string;
  trust: Trust;
  /** Names of the tools this task was given; what it creates (jobs) never gets more. */
  grantedTools: readonly string[];
  /** The chat that the task came from, for `origin`. */
  origin?: Address;
  /** Aborts when the task is interrupted or its time is over; the tool ends soon after. */
  signal: AbortSignal;
}

export interface ToolResult {
  /** What the model reads. */
  output: string;
  failed?: boolean;
}

export interface Tool<I = unknown> {
  name: string;
  /** For the model: what it does, when to use it. */
  description: string;
  input: z.ZodType<I>;
  /** A JSON schema that stands in for `input` when the tool comes from elsewhere (MCP servers). */
  inputJsonSchema?: Record<string, unknown>;
  /** The toolsets it belongs to, e.g. `browser`, `svc-webhook`. */
  toolsets: readonly string[];
  /**
   * Whether an untrusted task may have it: `named` means only when the tool itself, not a toolset, was granted;
   * absent means whenever a granted toolset holds it.
   */
  untrusted?: 'named' | 'never';
  /** May run beside other parallel tools of the same model answer. */
  parallel: boolean;
  /** Why this task cannot have the tool, or undefined when it can. A tool with a reason is hidden from the model. */
  hidden?(task: { trust: Trust; taskId: string }): Promise<string | undefined>;
  /** Expected failures are results with `failed`; a throw is reported to the model as a failure too. Ends when aborted. */
  run(input: I, context: ToolContext): Promise<ToolResult>;
}

/** Checks the types of one tool and forgets its input type, so that tools fit in one list. */
export function defineTool<I>(tool: Tool<I>): Tool {
  return tool as Tool;
}
