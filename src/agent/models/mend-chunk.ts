// The shape of one chunk or answer, made to fit what the SDK accepts: arguments as text, numbers as numbers, errors as
// objects, nothing that is merely decoration of the wrong type.

import { type Fields, isFields } from '../../core/fields.ts';

export interface MendedChunk {
  json: string;
  finished: boolean;
  hasCalls: boolean;
}

/** Undefined for values that say nothing about the answer. */
export function mendChunk(value: unknown): MendedChunk | undefined {
  if (!isFields(value)) return undefined;
  if (value.error !== undefined && value.error !== null) {
    return { json: JSON.stringify({ error: errorFields(value.error) }), finished: true, hasCalls: false };
  }
  const choices = Array.isArray(value.choices) ? value.choices.filter(isFields) : [];
  const usage = usageOf(value.usage);
  const first = choices[0];
  if (!first)
    return usage ? { json: JSON.stringify({ choices: [], usage }), finished: false, hasCalls: false } : undefined;
  // Some servers stream whole messages where deltas belong.
  const delta = messageFields(isFields(first.delta) ? first.delta : first.message);
  const finish = typeof first.finish_reason === 'string' && first.finish_reason !== '' ? first.finish_reason : null;
  const chunk = { choices: [{ index: 0, delta, finish_reason: finish }], ...(usage ? { usage } : {}) };
  return { json: JSON.stringify(chunk), finished: finish !== null, hasCalls: Array.isArray(delta.tool_calls) };
}

/** A whole answer as one chunk, or undefined when it is no answer. */
export function wholeAsChunk(value: unknown): string | undefined {
  if (!isFields(value) || (!Array.isArray(value.choices) && value.error == null)) return undefined;
  const mended = mendChunk(value);
  if (!mended || mended.finished) return mended?.json;
  const chunk = JSON.parse(mended.json) as { choices: Fields[] };
  return JSON.stringify({
    ...chunk,
    choices: chunk.choices.map((choice) => ({ ...choice, finish_reason: mended.hasCalls ? 'tool_calls' : 'stop' })),
  });
}

/** A whole answer for a call that did not ask to stream, or undefined when it is no answer. */
export function mendWhole(value: unknown): string | undefined {
  const json = wholeAsChunk(value);
  if (json === undefined) return undefined;
  const chunk = JSON.parse(json) as { choices?: { delta?: Fields }[] };
  const choices = chunk.choices?.map(({ delta, ...rest }) => ({ ...rest, message: { role: 'assistant', ...delta } }));
  return JSON.stringify({ ...chunk, ...(choices ? { choices } : {}) });
}

function messageFields(value: unknown): Fields {
  if (!isFields(value)) return {};
  const out: Fields = {};
  if (typeof value.content === 'string' || Array.isArray(value.content)) out.content = value.content;
  const reasoning = [value.reasoning_content, value.reasoning, value.thinking].find((one) => typeof one === 'string');
  if (reasoning !== undefined) out.reasoning_content = reasoning;
  if (typeof value.refusal === 'string') out.refusal = value.refusal;
  const calls = Array.isArray(value.tool_calls) ? value.tool_calls : isFields(value.function_call) ? [value] : [];
  const mended = calls.filter(isFields).map(callFields);
  if (mended.length > 0) out.tool_calls = mended;
  return out;
}

function callFields(call: Fields): Fields {
  const inner = isFields(call.function) ? call.function : isFields(call.function_call) ? call.function_call : call;
  const index = Number(call.index);
  return {
    ...(call.index != null && Number.isInteger(index) ? { index } : {}),
    ...(typeof call.id === 'string' || typeof call.id === 'number' ? { id: String(call.id) } : {}),
    type: 'function',
    function: {
      ...(typeof inner.name === 'string' ? { name: inner.name } : {}),
      ...(inner.arguments == null ? {} : { arguments: argumentText(inner.arguments) }),
    },
    ...(isFields(call.extra_content) ? { extra_content: call.extra_content } : {}),
  };
}

const argumentText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

function usageOf(value: unknown): Fields | undefined {
  if (!isFields(value)) return undefined;
  const counts = ['prompt_tokens', 'completion_tokens', 'total_tokens'].map((key) => [key, value[key]] as const);
  const known = counts.filter(([, count]) => typeof count === 'number' && Number.isFinite(count));
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}

function errorFields(error: unknown): Fields {
  if (!isFields(error)) return { message: typeof error === 'string' ? error : JSON.stringify(error) };
  return {
    message: typeof error.message === 'string' ? error.message : JSON.stringify(error),
    ...(typeof error.type === 'string' ? { type: error.type } : {}),
    ...(typeof error.code === 'string' || typeof error.code === 'number' ? { code: error.code } : {}),
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
