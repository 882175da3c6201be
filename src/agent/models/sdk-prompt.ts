// Our messages and tools in the words of the SDK.

import type { LanguageModelV4FunctionTool, LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { z } from 'zod';
import type { Message } from '../message.ts';
import type { ModelRequest } from '../model.ts';

type AssistantPart = (LanguageModelV4Message & { role: 'assistant' })['content'][number];
type ResultPart = (LanguageModelV4Message & { role: 'tool' })['content'][number];

/** Neighbouring user messages become one, and empty answers are left out: many chat templates insist on taking turns. */
export function promptOf(system: string, messages: readonly Message[]): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = system === '' ? [] : [{ role: 'system', content: system }];
  for (const message of messages) {
    const last = prompt.at(-1);
    if (message.role === 'user') {
      const before = last?.role === 'user' ? last.content[0] : undefined;
      if (before?.type === 'text') before.text += `\n\n${message.content}`;
      else prompt.push({ role: 'user', content: [{ type: 'text', text: message.content }] });
    } else if (message.role === 'assistant') {
      const content = assistantParts(message);
      if (content.length > 0) prompt.push({ role: 'assistant', content });
    } else if (last?.role === 'tool') last.content.push(resultPart(message));
    else prompt.push({ role: 'tool', content: [resultPart(message)] });
  }
  return prompt;
}

function assistantParts(message: Message & { role: 'assistant' }): AssistantPart[] {
  const parts: AssistantPart[] = message.content === '' ? [] : [{ type: 'text', text: message.content }];
  for (const call of message.toolCalls) {
    parts.push({
      type: 'tool-call',
      toolCallId: call.id,
      toolName: call.name,
      // Servers parse this again, some with no mercy: unreadable arguments go back as none.
      input: call.arguments ?? {},
      ...(call.providerMetadata ? { providerOptions: call.providerMetadata as never } : {}),
    });
  }
  return parts;
}

const resultPart = (message: Message & { role: 'tool' }): ResultPart => ({
  type: 'tool-result',
  toolCallId: message.callId,
  toolName: message.name,
  output: { type: message.failed ? 'error-text' : 'text', value: message.content },
});

const schemas = new WeakMap<object, LanguageModelV4FunctionTool['inputSchema']>();

export async function toolsOf(tools: ModelRequest['tools']): Promise<LanguageModelV4FunctionTool[]> {
  // Loaded here: importing the agent must cost nothing.
  const { toJSONSchema } = await import('zod');
  return tools.map((tool) => ({
    type: 'function',
    name: tool.name,
    description: tool.description,
    inputSchema:
      (tool.inputJsonSchema as LanguageModelV4FunctionTool['inputSchema']) ?? schemaOf(tool.input, toJSONSchema),
  }));
}

function schemaOf(input: z.ZodType, toJSONSchema: typeof z.toJSONSchema): LanguageModelV4FunctionTool['inputSchema'] {
  const known = schemas.get(input);
  if (known) return known;
  const { $schema: _, ...schema } = toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  const result = schema as LanguageModelV4FunctionTool['inputSchema'];
  schemas.set(input, result);
  return result;
}
