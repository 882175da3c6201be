// Mends what weak models write: JSON with small faults, arguments wrapped or quoted once too often, tool names spelled
// almost right. What cannot be mended becomes a sentence the model can learn from.

import type { z } from 'zod';
import type { ToolCall } from '../core/step.ts';
import type { Tool } from './tool.ts';

export type PreparedCall = { kind: 'ready'; tool: Tool; input: unknown } | { kind: 'unusable'; reason: string };

/** Names the tool that is meant, or undefined. Spelling is forgiven only when exactly one tool fits. */
export function toolNamed(name: string, tools: readonly Tool[]): Tool | undefined {
  const exact = tools.find((tool) => tool.name === name);
  if (exact) return exact;
  const wanted = plainName(name);
  const fitting = tools.filter((tool) => plainName(tool.name) === wanted);
  return fitting.length === 1 ? fitting[0] : undefined;
}

/** Gives a call the spelling and arguments it is stored and sent back with. Unreadable arguments stay raw. */
export function mendCall(call: ToolCall, tools: readonly Tool[]): ToolCall {
  const name = toolNamed(call.name, tools)?.name ?? call.name;
  if (call.arguments !== undefined) return { ...call, name, arguments: unquoted(call.arguments) };
  const { rawArguments, ...rest } = call;
  const parsed = parseLeniently(rawArguments ?? '');
  return parsed === undefined ? { ...call, name } : { ...rest, name, arguments: unquoted(parsed) };
}

/** Finds the tool and checks the arguments of a mended call. */
export function prepareCall(call: ToolCall, tools: readonly Tool[]): PreparedCall {
  const tool = toolNamed(call.name, tools);
  if (!tool) {
    const names = tools.map((one) => one.name).join(', ');
    const instead = names === '' ? 'There are no tools in this task.' : `The tools are: ${names}.`;
    return { kind: 'unusable', reason: `There is no tool named "${call.name.slice(0, 100)}". ${instead}` };
  }
  if (call.arguments === undefined) {
    const shown = (call.rawArguments ?? '').slice(0, 200);
    return { kind: 'unusable', reason: `The arguments are not valid JSON. You wrote: ${shown}\nSend one JSON object.` };
  }
  const first = tool.input.safeParse(call.arguments);
  if (first.success) return { kind: 'ready', tool, input: first.data };
  for (const candidate of [coerced(call.arguments, first.error.issues), unwrapped(call.arguments)]) {
    const again = candidate === undefined ? undefined : tool.input.safeParse(candidate);
    if (again?.success) return { kind: 'ready', tool, input: again.data };
  }
  const faults = first.error.issues.map((issue) => `- ${issue.path.join('.') || 'arguments'}: ${issue.message}`);
  return { kind: 'unusable', reason: `The arguments do not fit ${tool.name}:\n${faults.slice(0, 10).join('\n')}` };
}

/**
 * Calls that a model wrote as text because its server does not know the model's format. Only a text that is nothing
 * but calls of known tools counts: a quoted call inside an answer must never be carried out.
 */
export function callsInText(text: string, tools: readonly Tool[]): ToolCall[] | undefined {
  const whole = text.trim();
  const blocks = /^(?:<tool_call>[\s\S]*?<\/tool_call>\s*)+$/.test(whole)
    ? [...whole.matchAll(/<tool_call>([\s\S]*?)<\/tool_call>/g)].map((match) => match[1] ?? '')
    : /^(?:```(?:json)?\s*)?\{[\s\S]*\}(?:\s*```)?$/.test(whole)
      ? [whole]
      : [];
  const calls = blocks.map((block) => callWrittenAs(parseLeniently(block), tools));
  return calls.length > 0 && calls.every((call) => call !== undefined) ? calls : undefined;
}

function callWrittenAs(value: unknown, tools: readonly Tool[]): ToolCall | undefined {
  if (!isObject(value) || typeof value.name !== 'string') return undefined;
  const input = value.arguments ?? value.parameters;
  const tool = tools.find((one) => one.name === value.name);
  return tool && isObject(input) ? { id: '', name: tool.name, arguments: input } : undefined;
}

/** JSON as models write it: in a code fence, with trailing commas, Python words, or the last brackets missing. */
export function parseLeniently(text: string): unknown {
  const bare = text.trim().replace(/^```[a-z]*\s*|\s*```$/g, '');
  if (bare === '') return {};
  const candidates = [
    bare,
    withoutTrailingCommas(bare),
    closed(bare),
    withoutTrailingCommas(closed(bare)),
    jsonWords(bare),
  ];
  for (const candidate of candidates) {
    try {
      return JSON.parse(candidate);
    } catch {
      // The next candidate is one fault more forgiving.
    }
  }
  return undefined;
}

const plainName = (name: string): string =>
  name
    .replace(/^(functions?|tools?)[.:/]/i, '')
    .replace(/[^a-z0-9]/gi, '')
    .toLowerCase();

/** An object that was quoted into a string, as some servers send arguments. */
function unquoted(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const inner = parseLeniently(value);
  return typeof inner === 'object' && inner !== null ? inner : value;
}

const withoutTrailingCommas = (text: string): string => text.replace(/,(\s*[}\]])/g, '$1');

const jsonWords = (text: string): string =>
  withoutTrailingCommas(text)
    .replace(/\bTrue\b/g, 'true')
    .replace(/\bFalse\b/g, 'false')
    .replace(/\bNone\b/g, 'null')
    .replace(/(?<=[{,[:]\s*)'((?:[^'\\]|\\.)*)'/g, (_all, inner: string) =>
      JSON.stringify(inner.replaceAll("\\'", "'")),
    );

/** Adds the brackets that are missing at the end. A text that ends inside a string was cut off: its value is not known. */
function closed(text: string): string {
  const open: string[] = [];
  let inString = false;
  for (let i = 0; i < text.length; i += 1) {
    const c = text[i];
    if (inString) {
      if (c === '\\') i += 1;
      else if (c === '"') inString = false;
    } else if (c === '"') inString = true;
    else if (c === '{') open.push('}');
    else if (c === '[') open.push(']');
    else if (c === '}' || c === ']') open.pop();
  }
  return inString ? text : `${text}${open.reverse().join('')}`;
}

/** Turns texts into the numbers, booleans, lists and objects that the schema asked for at exactly those places. */
function coerced(value: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  const copy = structuredClone(value);
  let changed = false;
  for (const issue of issues) {
    const key = issue.path.at(-1);
    const holder = issue.path.slice(0, -1).reduce<unknown>((at, step) => (isObject(at) ? at[step] : undefined), copy);
    if (issue.code !== 'invalid_type' || key === undefined || !isObject(holder)) continue;
    const text = holder[key];
    if (text === null) {
      // Models fill optional parameters with null.
      delete holder[key];
      changed = true;
    } else if (typeof text === 'string' && issue.expected !== 'string') {
      const parsed = parseLeniently(text);
      if (text.trim() !== '' && parsed !== undefined) {
        holder[key] = parsed;
        changed = true;
      }
    } else if (issue.expected === 'string' && (typeof text === 'number' || typeof text === 'boolean')) {
      holder[key] = String(text);
      changed = true;
    } else if (issue.expected === 'array') {
      holder[key] = [text];
      changed = true;
    }
  }
  return changed ? copy : undefined;
}

/** `{"arguments": {...}}` and the like: one object around the real one. */
function unwrapped(value: unknown): unknown {
  if (!isObject(value)) return undefined;
  const inner = value.arguments ?? value.parameters ?? value.input ?? value.args;
  return Object.keys(value).length === 1 ? unquoted(inner) : undefined;
}

const isObject = (value: unknown): value is Record<PropertyKey, unknown> => typeof value === 'object' && value !== null;
