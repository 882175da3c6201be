// Whether an event passes a route's `filters`. Patterns are the operator's, texts are a stranger's: matching has a time
// limit, and a filter that cannot be decided lets nothing through.

import { isDeepStrictEqual } from 'node:util';
import { createContext, Script } from 'node:vm';
import type { Filter } from '../config/schema.ts';
import { messageOf } from '../core/errors.ts';
import { type Json, valueAt } from '../core/json.ts';
import { canonicalHeader, headerValue } from '../core/names.ts';
import type { RequestHeaders } from './schemes.ts';

export interface Filtered {
  payload: Json;
  event: string;
  headers: RequestHeaders;
}

export type FilterVerdict = { kind: 'passed' } | { kind: 'filtered'; reason: string };

const REGEX_LIMIT_MS = 50;

/** A list of filters means all of them. */
export function applyFilters(filters: Filter | readonly Filter[], subject: Filtered): FilterVerdict {
  const list: readonly Filter[] = isList(filters) ? filters : [filters];
  try {
    const failed = list.find((filter) => !matches(filter, subject));
    return failed ? { kind: 'filtered', reason: describe(failed) } : { kind: 'passed' };
  } catch (error) {
    return { kind: 'filtered', reason: messageOf(error) };
  }
}

/** Problems of patterns, found at start instead of at the first event. */
export function filterProblems(filters: Filter | readonly Filter[]): string[] {
  if (isList(filters)) return filters.flatMap(filterProblems);
  if ('all' in filters) return filters.all.flatMap(filterProblems);
  if ('any' in filters) return filters.any.flatMap(filterProblems);
  if ('not' in filters) return filterProblems(filters.not);
  if (!('regex' in filters)) return [];
  try {
    new RegExp(filters.regex, 'u');
    return [];
  } catch (error) {
    return [`filter on ${filters.field}: ${messageOf(error)}`];
  }
}

// Array.isArray does not narrow a readonly array away from an object type.
const isList = (filters: Filter | readonly Filter[]): filters is readonly Filter[] => Array.isArray(filters);

function matches(filter: Filter, subject: Filtered): boolean {
  if ('all' in filter) return filter.all.every((inner) => matches(inner, subject));
  if ('any' in filter) return filter.any.some((inner) => matches(inner, subject));
  if ('not' in filter) return !matches(filter.not, subject);
  const value = fieldValue(filter.field, subject);
  if ('exists' in filter) return value !== undefined;
  if ('missing' in filter) return value === undefined;
  if ('not_equals' in filter) return !isDeepStrictEqual(value, filter.not_equals);
  if (value === undefined) return false;
  if ('equals' in filter) return isDeepStrictEqual(value, filter.equals);
  if ('in' in filter) return filter.in.some((candidate) => isDeepStrictEqual(value, candidate));
  if ('contains' in filter) return contains(value, filter.contains);
  return typeof value === 'object' ? false : matchesWithin(filter.regex, String(value), filter.field);
}

/** `event`, `headers.<name>` or a path in the payload, which may be written with `payload.` in front. */
function fieldValue(field: string, subject: Filtered): Json | undefined {
  if (field === 'event') return subject.event;
  if (field.startsWith('headers.'))
    return headerValue(subject.headers, canonicalHeader(field.slice('headers.'.length).toLowerCase()));
  const path = field.split('.');
  return valueAt(subject.payload, path[0] === 'payload' ? path.slice(1) : path);
}

function contains(value: Json, part: unknown): boolean {
  if (typeof value === 'string') return typeof part === 'string' && value.includes(part);
  return Array.isArray(value) && value.some((element) => isDeepStrictEqual(element, part));
}

// V8 can be told to stop in the middle of a match only from another thread; `vm` owns such a watchdog.
const matcher = new Script('new RegExp(pattern, "u").test(text)');
const context = createContext({ pattern: '', text: '' }, { codeGeneration: { strings: false, wasm: false } });

function matchesWithin(pattern: string, text: string, field: string): boolean {
  context.pattern = pattern;
  context.text = text;
  try {
    return matcher.runInContext(context, { timeout: REGEX_LIMIT_MS }) === true;
  } catch (error) {
    throw new Error(`filter on ${field}: the pattern took longer than ${REGEX_LIMIT_MS} ms`, { cause: error });
  } finally {
    context.text = '';
  }
}

function describe(filter: Filter): string {
  if (!('field' in filter)) return `no match: ${Object.keys(filter)[0]}`;
  const operator = Object.keys(filter).find((key) => key !== 'field');
  return `no match: ${filter.field} ${operator}`;
}
