// The agent: a prompt in, a final text out, by way of model and tool calls. It knows nothing of runs, stores or chats:
// every step is handed to `record` before the next begins, and recorded steps are taken up again after a crash.

import type { Step, ToolCall, Usage } from '../core/step.ts';
import { compact, isNearlyFull, planCompaction } from './compaction.ts';
import { type Conversation, startConversation } from './conversation.ts';
import type { AgentEvent } from './event.ts';
import type { Message } from './message.ts';
import type { Model, ModelReply } from './model.ts';
import { callsInText, mendCall } from './repair.ts';
import { type Repeats, signatureOf, watchRepeats } from './repeats.ts';
import type { Tool, ToolContext } from './tool.ts';
import { type CallDeps, runCalls } from './tool-calls.ts';

export type { AgentEvent } from './event.ts';

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
  /** Resolves when the step is durable. The agent waits for it before it goes on, and never calls it twice at once. */
  record(step: Step): Promise<void>;
  /** What a person watching sees as it happens. Must not throw. */
  onEvent?(event: AgentEvent): void;
}

export type AgentResult =
  | { kind: 'answer'; text: string; usage: Usage }
  /** `transient` failures (server unreachable, rate limits) may be tried again. */
  | { kind: 'failed'; reason: string; transient: boolean; help?: string }
  /** The signal aborted; recorded steps are enough to go on. */
  | { kind: 'interrupted' };

/** Throws only what `record` throws. Ends at once when the signal of the context aborts. */
export async function runAgent(task: AgentTask): Promise<AgentResult> {
  const conversation = startConversation(task.messages);
  const repeats = watchRepeats();
  for (const step of task.recorded) conversation.add(step);
  noteRecordedCalls(task.recorded, repeats);
  const calls = callDeps(task, conversation, repeats);

  for (;;) {
    if (conversation.answer !== undefined) return answerOf(conversation, conversation.answer);
    if (task.context.signal.aborted) return { kind: 'interrupted' };
    if (conversation.open.length > 0) {
      if ((await runCalls(conversation.open, calls)) === 'interrupted') return { kind: 'interrupted' };
      continue;
    }
    const over = limitReached(task, conversation, repeats);
    if (over) return over;
    const reply = await nextReply(task, conversation, calls);
    if (reply.kind === 'aborted') return { kind: 'interrupted' };
    if (reply.kind === 'failed') return failureOf(reply);
    await calls.add(modelStep(reply, task.tools, conversation));
  }
}

const answerOf = (conversation: Conversation, text: string): AgentResult => ({
  kind: 'answer',
  text,
  usage: { ...conversation.usage },
});

const failureOf = ({ reason, transient, help }: ModelReply & { kind: 'failed' }): AgentResult => ({
  kind: 'failed',
  reason,
  transient,
  ...(help === undefined ? {} : { help }),
});

// Some outputs are longer than any model reads with profit; a small context gets at most a quarter of itself.
const MAX_OUTPUT_CHARS = 100_000;

function callDeps(task: AgentTask, conversation: Conversation, repeats: Repeats): CallDeps {
  let recording: Promise<void> = Promise.resolve();
  return {
    tools: task.tools,
    context: task.context,
    repeats,
    maxOutputChars: Math.min(MAX_OUTPUT_CHARS, task.model.contextLength ?? MAX_OUTPUT_CHARS),
    // Calls may run side by side, their steps are stored one after another.
    add: (step) => {
      recording = recording.then(() => task.record(step)).then(() => conversation.add(step));
      return recording;
    },
    say: (event) => task.onEvent?.(event),
  };
}

function limitReached(task: AgentTask, conversation: Conversation, repeats: Repeats): AgentResult | undefined {
  const { maxSteps, maxTokens } = task.limits;
  const tokens = conversation.usage.inputTokens + conversation.usage.outputTokens;
  if (repeats.hopeless) {
    return stop('The model keeps making the same tool call and does not use its result.', 'Try a stronger model.');
  }
  if (conversation.modelCalls >= maxSteps) {
    const help = 'Raise agent.max_steps in config.yaml, or ask for less at once.';
    return stop(`The limit of ${maxSteps} steps was reached without an answer.`, help);
  }
  if (maxTokens !== undefined && tokens >= maxTokens) {
    const help = 'Raise agent.max_tokens in config.yaml, or ask for less at once.';
    return stop(`The limit of ${maxTokens} tokens was reached (${tokens} used) without an answer.`, help);
  }
  return undefined;
}

const stop = (reason: string, help: string): AgentResult => ({ kind: 'failed', reason, transient: false, help });

/** One model call, after room was made for it. A request that proves too long is shortened and sent once more. */
async function nextReply(task: AgentTask, conversation: Conversation, deps: CallDeps): Promise<ModelReply> {
  if (isNearlyFull(conversation.messages, task)) await makeRoom(task, conversation, deps);
  const reply = await ask(task, conversation);
  if (reply.kind === 'failed' && reply.contextFull && (await makeRoom(task, conversation, deps))) {
    return ask(task, conversation);
  }
  if (reply.kind === 'message' && reply.text.trim() === '' && reply.toolCalls.length === 0) {
    deps.say({ kind: 'notice', text: 'The model sent an empty answer; asking once more.' });
    return ask(task, conversation);
  }
  return reply;
}

async function makeRoom(task: AgentTask, conversation: Conversation, deps: CallDeps): Promise<boolean> {
  const plan = planCompaction(conversation.messages, task);
  if (!plan) return false;
  deps.say({ kind: 'notice', text: 'The context is full; earlier messages are being summarised.' });
  const step = await compact(plan, task);
  if (task.context.signal.aborted) return false;
  await deps.add(step);
  return true;
}

function ask(task: AgentTask, conversation: Conversation): Promise<ModelReply> {
  const last = conversation.modelCalls + 1 >= task.limits.maxSteps;
  return task.model.complete({
    system: last ? `${task.system}\n\n${LAST_STEP}` : task.system,
    messages: conversation.messages,
    tools: task.tools,
    signal: task.context.signal,
    onText: (delta) => task.onEvent?.({ kind: 'text', delta }),
    onThinking: (delta) => task.onEvent?.({ kind: 'thinking', delta }),
    onNotice: (text) => task.onEvent?.({ kind: 'notice', text }),
  });
}

const LAST_STEP = 'This is your last step: call no tools, answer now with what you have.';

/** The reply as it is stored: calls mended, ids unique within the task (many servers number them anew each time). */
function modelStep(
  reply: ModelReply & { kind: 'message' },
  tools: readonly Tool[],
  conversation: Conversation,
): Step & { kind: 'model' } {
  const written = reply.toolCalls.length > 0 ? undefined : callsInText(reply.text, tools);
  const taken = new Set(
    conversation.messages.flatMap((one) => (one.role === 'assistant' ? one.toolCalls : [])).map(idOf),
  );
  const toolCalls = (written ?? reply.toolCalls).map((call, index) => {
    const wanted = call.id === '' ? `call_${conversation.modelCalls + 1}_${index + 1}` : call.id;
    let id = wanted;
    for (let n = 2; taken.has(id); n += 1) id = `${wanted}_${n}`;
    taken.add(id);
    return mendCall({ ...call, id }, tools);
  });
  return { kind: 'model', text: written ? '' : reply.text, toolCalls, usage: reply.usage };
}

const idOf = (call: ToolCall): string => call.id;

/** After a crash the model must not get its repetitions for free. */
function noteRecordedCalls(recorded: readonly Step[], repeats: Repeats): void {
  const calls = new Map<string, ToolCall>();
  for (const step of recorded) {
    if (step.kind === 'model') for (const call of step.toolCalls) calls.set(call.id, call);
    if (step.kind !== 'tool_result') continue;
    const call = calls.get(step.callId);
    if (call) repeats.note(signatureOf(call.name, call.arguments ?? call.rawArguments), step.output);
  }
}
