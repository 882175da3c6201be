// The built-in stand-in for a model: in process, deterministic, and it says so in every answer. It lets everything be
// tried before a model is chosen. It reports what it was given, and follows two words at the start of a line of the
// prompt: `/tool <name> <JSON arguments>` calls that tool, `/say <text>` answers with that text.
// Lines inside an untrusted block are data and never followed.

import type { Message } from '../message.ts';
import type { Model, ModelReply, ModelRequest } from '../model.ts';

export const DEMO_LABEL = '[demo model]';

export function demoModel(): Model {
  return {
    label: 'the built-in demo model',
    contextLength: undefined,
    complete: async (request) => {
      if (request.signal.aborted) return { kind: 'aborted' };
      const reply = demoReply(request);
      for (const word of reply.text.match(/\s*\S+/g) ?? []) {
        request.onText?.(word);
      }
      return reply;
    },
  };
}

function demoReply(request: ModelRequest): ModelReply & { kind: 'message' } {
  const at = request.messages.findLastIndex((message) => message.role === 'user');
  const prompt = request.messages[at]?.content ?? '';
  const since = request.messages.slice(at + 1);
  const orders = ordersIn(prompt);
  const next = orders.calls[since.filter((message) => message.role === 'assistant').length];
  const inputTokens = Math.ceil((request.system.length + prompt.length) / 4);
  if (next) {
    const call = { id: '', name: next.name, rawArguments: next.input };
    return { kind: 'message', text: '', toolCalls: [call], usage: { inputTokens, outputTokens: 10 } };
  }
  const text = `${DEMO_LABEL} ${orders.say ?? report(prompt, since)}`;
  return { kind: 'message', text, toolCalls: [], usage: { inputTokens, outputTokens: Math.ceil(text.length / 4) } };
}

interface Orders {
  calls: { name: string; input: string }[];
  say: string | undefined;
}

function ordersIn(prompt: string): Orders {
  const trusted = prompt.replace(/<untrusted (\S+)>[\s\S]*?(?:<\/untrusted \1>|$)/g, '');
  const calls = [...trusted.matchAll(/^\/tool[ \t]+(\S+)[ \t]*(.*)$/gm)];
  return {
    calls: calls.map(([, name = '', input = '']) => ({ name, input })),
    say: trusted.match(/^\/say[ \t]+(.*)$/m)?.[1],
  };
}

function report(prompt: string, since: readonly Message[]): string {
  const results = since.filter((message) => message.role === 'tool');
  const lines = [
    'No model has been chosen yet (run `svc model`), so this is only a report of what arrived.',
    `The prompt has ${prompt.length} characters:`,
    quoted(prompt, 600),
  ];
  for (const result of results) {
    lines.push(`${result.name} ${result.failed ? 'failed' : 'returned'}:`, quoted(result.content, 600));
  }
  return lines.join('\n');
}

function quoted(text: string, maxChars: number): string {
  const points = [...text.trim()];
  const shown = points.length > maxChars ? `${points.slice(0, maxChars).join('')} [...]` : points.join('');
  return shown
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n');
}
