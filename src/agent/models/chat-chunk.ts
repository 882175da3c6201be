// One chunk of a chat completion, or a whole one, read for what it says. Servers that call themselves compatible differ
// in small ways: what is merely of the wrong type is left out, what has another name or shape is understood.

import { type Fields, isFields } from '../../core/fields.ts';

export interface Chunk {
  text: string;
  thinking: string;
  calls: CallDelta[];
  finish: string | undefined;
  inputTokens?: number;
  outputTokens?: number;
  /** What the server reports instead of an answer. */
  error?: string;
}

/** A piece of a tool call; pieces are joined by index, by id, or because only one is open. */
export interface CallDelta {
  index?: number;
  id?: string;
  type: 'function';
  function: { name?: string; arguments?: string };
  extra_content?: Fields;
}

/** Undefined for values that say nothing about the answer. */
export function readChunk(value: unknown): Chunk | undefined {
  if (!isFields(value)) return undefined;
  if (value.error != null) return { ...NOTHING, calls: [], error: errorText(value.error) };
  const first = Array.isArray(value.choices) ? value.choices.find(isFields) : undefined;
  const usage = usageOf(value.usage);
  if (!first) return usage ? { ...NOTHING, calls: [], ...usage } : undefined;
  // A whole answer has a message where a chunk has a delta; some servers stream messages.
  const said = isFields(first.delta) ? first.delta : isFields(first.message) ? first.message : {};
  const refusal = typeof said.refusal === 'string' ? said.refusal : '';
  return {
    text: contentText(said.content, 'text') + refusal,
    thinking: thinkingText(said),
    calls: callsOf(said),
    finish: typeof first.finish_reason === 'string' && first.finish_reason !== '' ? first.finish_reason : undefined,
    ...usage,
  };
}

/** The value of a JSON text, or undefined when it is none. */
export function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const NOTHING = { text: '', thinking: '', finish: undefined };

/** Content is text, or a list of parts of which some are thoughts. */
function contentText(content: unknown, wanted: 'text' | 'thinking'): string {
  if (typeof content === 'string') return wanted === 'text' ? content : '';
  if (!Array.isArray(content)) return '';
  const parts = content.filter(isFields).filter((part) => part.type === wanted);
  return parts.map((part) => partText(part[wanted])).join('');
}

function partText(value: unknown): string {
  if (typeof value === 'string') return value;
  return Array.isArray(value)
    ? value
        .filter(isFields)
        .map((part) => partText(part.text))
        .join('')
    : '';
}

function thinkingText(said: Fields): string {
  const own = [said.reasoning_content, said.reasoning, said.thinking].find((one) => typeof one === 'string');
  return typeof own === 'string' ? own : contentText(said.content, 'thinking');
}

function callsOf(said: Fields): CallDelta[] {
  if (Array.isArray(said.tool_calls)) return said.tool_calls.filter(isFields).map(callOf);
  return isFields(said.function_call) ? [callOf(said)] : [];
}

function callOf(call: Fields): CallDelta {
  const inner = isFields(call.function) ? call.function : isFields(call.function_call) ? call.function_call : call;
  const index = call.index == null ? Number.NaN : Number(call.index);
  const { name, arguments: given } = inner;
  return {
    ...(Number.isInteger(index) ? { index } : {}),
    ...(typeof call.id === 'string' || typeof call.id === 'number' ? { id: String(call.id) } : {}),
    type: 'function',
    function: {
      ...(typeof name === 'string' ? { name } : {}),
      ...(given == null ? {} : { arguments: typeof given === 'string' ? given : JSON.stringify(given) }),
    },
    ...(isFields(call.extra_content) ? { extra_content: call.extra_content } : {}),
  };
}

function usageOf(value: unknown): Pick<Chunk, 'inputTokens' | 'outputTokens'> | undefined {
  if (!isFields(value)) return undefined;
  const { prompt_tokens: input, completion_tokens: output } = value;
  if (!isCount(input) && !isCount(output)) return undefined;
  return { ...(isCount(input) ? { inputTokens: input } : {}), ...(isCount(output) ? { outputTokens: output } : {}) };
}

const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;

function errorText(error: unknown): string {
  if (typeof error === 'string') return error;
  return isFields(error) && typeof error.message === 'string' ? error.message : JSON.stringify(error);
}
