// The conversation of one task, built from its steps. Live and after a crash the same function adds a step,
// so a resumed task sees exactly what the interrupted one saw.

import type { Step, ToolCall, Usage } from '../core/step.ts';
import type { Message } from './message.ts';

export interface Conversation {
  readonly messages: readonly Message[];
  readonly usage: Readonly<Usage>;
  readonly modelCalls: number;
  /** Calls of the last model answer that have no result yet, in order; `started` ones may have happened. */
  readonly open: readonly { call: ToolCall; started: boolean }[];
  /** Set once the model answered without a tool call. */
  readonly answer: string | undefined;
  add(step: Step): void;
}

export function startConversation(before: readonly Message[]): Conversation {
  let messages: Message[] = [...before];
  const prompt = before.findLast((message) => message.role === 'user')?.content ?? '';
  const usage: Usage = { inputTokens: 0, outputTokens: 0 };
  let modelCalls = 0;
  let answer: string | undefined;
  let round: Round | undefined;

  const addUsage = (more: Usage): void => {
    usage.inputTokens += more.inputTokens;
    usage.outputTokens += more.outputTokens;
  };

  return {
    get messages() {
      return messages;
    },
    usage,
    get modelCalls() {
      return modelCalls;
    },
    get open() {
      const current = round;
      if (!current) return [];
      return current.calls
        .filter((call) => !current.results.has(call.id))
        .map((call) => ({ call, started: current.started.has(call.id) }));
    },
    get answer() {
      return answer;
    },
    add(step) {
      switch (step.kind) {
        case 'model':
          addUsage(step.usage);
          modelCalls += 1;
          messages.push({ role: 'assistant', content: step.text, toolCalls: step.toolCalls });
          answer = step.toolCalls.length === 0 ? step.text : undefined;
          round = step.toolCalls.length === 0 ? undefined : newRound(step.toolCalls);
          return;
        case 'tool_started':
          round?.started.add(step.callId);
          return;
        case 'tool_result': {
          round?.results.set(step.callId, { output: step.output, failed: step.failed });
          // Providers want the results in the order of the calls, whatever order they came in.
          if (round?.calls.every((call) => round?.results.has(call.id))) {
            messages.push(...resultsOf(round));
            round = undefined;
          }
          return;
        }
        case 'compacted':
          addUsage(step.usage);
          messages = compactMessages(messages, step, prompt);
          return;
      }
    },
  };
}

/** The conversation after these steps. A call without a result is closed with a sentence that says so. */
export function messagesAfter(before: readonly Message[], steps: readonly Step[]): readonly Message[] {
  const conversation = startConversation(before);
  for (const step of steps) conversation.add(step);
  for (const { call, started } of conversation.open) {
    const output = started ? OUTCOME_UNKNOWN : NOT_STARTED;
    conversation.add({ kind: 'tool_result', callId: call.id, output, failed: true });
  }
  return conversation.messages;
}

export const OUTCOME_UNKNOWN =
  'Outcome unknown: the call was started and then interrupted before its result was stored. It was not repeated. ' +
  'Find out whether it took effect before you do it again.';
const NOT_STARTED = 'Not done: the task was interrupted before this call was started.';

/**
 * The summary takes the place of everything before the kept messages. It is joined to the prompt in one user message,
 * because many chat templates accept only turns that alternate.
 */
function compactMessages(
  messages: readonly Message[],
  step: { summary: string; keptMessages: number },
  prompt: string,
): Message[] {
  const tail = messages.slice(messages.length - step.keptMessages);
  const note = `[The earlier conversation was shortened. Summary of what happened so far:]\n${step.summary}`;
  const first = tail[0];
  if (first?.role === 'user') {
    return [{ role: 'user', content: `${note}\n\n[The conversation goes on:]\n${first.content}` }, ...tail.slice(1)];
  }
  return [{ role: 'user', content: `${prompt}\n\n${note}` }, ...tail];
}

interface Round {
  calls: readonly ToolCall[];
  started: Set<string>;
  results: Map<string, { output: string; failed: boolean }>;
}

const newRound = (calls: readonly ToolCall[]): Round => ({ calls, started: new Set(), results: new Map() });

function resultsOf(round: Round): Message[] {
  return round.calls.map((call) => {
    const result = round.results.get(call.id);
    return {
      role: 'tool',
      callId: call.id,
      name: call.name,
      content: result?.output ?? '',
      failed: result?.failed ?? true,
    };
  });
}
