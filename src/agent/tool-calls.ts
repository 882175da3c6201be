// Carries out the tool calls of one model answer: a start mark before each, its result after, side by side when all
// of them allow it. An interruption ends it at once and leaves the start marks as the truth.

import { messageOf } from '../core/errors.ts';
import type { Step, ToolCall } from '../core/step.ts';
import { OUTCOME_UNKNOWN } from './conversation.ts';
import type { AgentEvent } from './event.ts';
import { prepareCall, toolNamed } from './repair.ts';
import { type Repeats, signatureOf } from './repeats.ts';
import type { Tool, ToolContext, ToolResult } from './tool.ts';
import { untilAborted } from './until-aborted.ts';

export interface CallDeps {
  tools: readonly Tool[];
  context: ToolContext;
  repeats: Repeats;
  /** Longest tool output the model is given. */
  maxOutputChars: number;
  add(step: Step): Promise<void>;
  say(event: AgentEvent): void;
}

const AT_ONCE = 8;

/** Resolves when every open call has a result, or as soon as the signal aborts. */
export async function runCalls(
  open: readonly { call: ToolCall; started: boolean }[],
  deps: CallDeps,
): Promise<'done' | 'interrupted'> {
  const sideBySide = open.every(({ call }) => toolNamed(call.name, deps.tools)?.parallel ?? true);
  const waiting = [...open];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next && !deps.context.signal.aborted; next = waiting.shift()) {
      await (next.started ? closeUnknown(next.call, deps) : runCall(next.call, deps));
    }
  };
  await Promise.all(Array.from({ length: sideBySide ? Math.min(AT_ONCE, open.length) : 1 }, worker));
  return deps.context.signal.aborted ? 'interrupted' : 'done';
}

async function runCall(call: ToolCall, deps: CallDeps): Promise<void> {
  deps.say({ kind: 'tool_call', id: call.id, name: call.name, arguments: call.arguments ?? call.rawArguments });
  const prepared = prepareCall(call, deps.tools);
  const signature = signatureOf(call.name, call.arguments ?? call.rawArguments);
  const refusal = deps.repeats.refusal(signature);
  if (refusal !== undefined) return finish(call, { output: refusal, failed: true }, deps);
  if (prepared.kind === 'unusable') {
    deps.repeats.note(signature, prepared.reason);
    return finish(call, { output: prepared.reason, failed: true }, deps);
  }
  await deps.add({ kind: 'tool_started', callId: call.id });
  const result = await untilAborted(perform(prepared.tool, prepared.input, deps.context), deps.context.signal);
  // What a tool says after it was told to stop is not a result: whether it took effect is unknown.
  if (result === undefined || deps.context.signal.aborted) return;
  deps.repeats.note(signature, result.output);
  return finish(call, { ...result, output: capped(result.output, deps.maxOutputChars) }, deps);
}

async function closeUnknown(call: ToolCall, deps: CallDeps): Promise<void> {
  deps.say({ kind: 'notice', text: `The outcome of ${call.name} is unknown; it is not repeated.` });
  await finish(call, { output: OUTCOME_UNKNOWN, failed: true }, deps);
}

async function finish(call: ToolCall, result: ToolResult, deps: CallDeps): Promise<void> {
  const failed = result.failed ?? false;
  await deps.add({ kind: 'tool_result', callId: call.id, output: result.output, failed });
  deps.say({ kind: 'tool_result', id: call.id, name: call.name, output: result.output, failed });
}

async function perform(tool: Tool, input: unknown, context: ToolContext): Promise<ToolResult> {
  try {
    return await tool.run(input, context);
  } catch (error) {
    return { output: `${tool.name} failed: ${messageOf(error)}`, failed: true };
  }
}

/** Keeps the beginning and the end: errors tend to stand last. */
function capped(output: string, maxChars: number): string {
  if (output.length <= maxChars) return output;
  const head = Math.floor(maxChars * 0.7);
  const tail = maxChars - head;
  const cut = output.length - maxChars;
  return `${output.slice(0, head).toWellFormed()}\n[... ${cut} characters cut ...]\n${output.slice(-tail).toWellFormed()}`;
}
