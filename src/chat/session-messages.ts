// What the model sees of a stored session. Turns that broke off are closed with a sentence, so that every prompt follows a
// complete answer, as chat templates want it.

import { messagesAfter } from '../agent/conversation.ts';
import type { Message } from '../agent/message.ts';
import type { SessionEntry } from '../core/session.ts';
import type { Step } from '../core/step.ts';

export function sessionMessages(entries: readonly SessionEntry[]): readonly Message[] {
  let messages: readonly Message[] = [];
  let steps: Step[] = [];
  let arrived: string[] = [];

  const closeTurn = (ending?: string) => {
    messages = messagesAfter(messages, steps);
    steps = [];
    const waiting = messages.at(-1);
    if (ending !== undefined) messages = withAnswer(messages, ending);
    // Killed in mid-turn, a chat has no ending: the prompt still needs its answer.
    else if (waiting !== undefined && waiting.role !== 'assistant')
      messages = withAnswer(messages, '[No answer was given.]');
    for (const text of arrived) messages = withAnswer(messages, text);
    arrived = [];
  };

  for (const entry of entries) {
    switch (entry.kind) {
      case 'prompt':
        closeTurn();
        messages = [...messages, { role: 'user', content: entry.text }];
        break;
      case 'interrupted':
        closeTurn(entry.text === '' ? '[The user interrupted.]' : `${entry.text}\n[The user interrupted here.]`);
        break;
      case 'failed':
        closeTurn(`[No answer: ${entry.reason}]`);
        break;
      case 'delivered':
        // It may have come in while a turn was going on; it is told after that turn.
        arrived.push(`[A message arrived from ${entry.source}:]\n${entry.text}`);
        break;
      default:
        steps.push(entry);
    }
  }
  if (steps.length > 0 || arrived.length > 0) {
    messages = messagesAfter(messages, steps);
    for (const text of arrived) messages = withAnswer(messages, text);
  }
  return messages;
}

/** Adds to the last answer when there is one: two answers in a row are refused by many templates. */
function withAnswer(messages: readonly Message[], text: string): readonly Message[] {
  const last = messages.at(-1);
  if (last?.role === 'assistant' && last.toolCalls.length === 0) {
    return [...messages.slice(0, -1), { ...last, content: `${last.content}\n\n${text}`.trim() }];
  }
  return [...messages, { role: 'assistant', content: text, toolCalls: [] }];
}
