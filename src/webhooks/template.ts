// Templates: `{a.b.0}` and `{__raw__}`, nothing else. One pass, own keys only, inserted text is never looked at again.

import { cutText, indentedJson, type Json, valueAt } from '../core/json.ts';

export interface Template {
  readonly source: string;
  readonly parts: readonly Part[];
}

type Part = { literal: string } | { placeholder: string; path: readonly string[] };

export interface Rendered {
  text: string;
  /** Placeholders that found nothing and stayed as they are written. */
  unresolved: string[];
  /** Placeholders whose value was too long. */
  cut: string[];
}

const RAW = '__raw__';
const RAW_LIMIT = 4000;
const NESTED_LIMIT = 2000;
/** The contract limits nested values but not plain strings: this keeps a template full of one long field from growing. */
const TEXT_LIMIT = 1_048_576;

/** Splits a template once; rendering then costs no more than its result. */
export function compileTemplate(source: string): Template {
  const parts: Part[] = [];
  let end = 0;
  for (const match of source.matchAll(/\{([^{}\s"]+)\}/g)) {
    const name = match[1] ?? '';
    if (match.index > end) parts.push({ literal: source.slice(end, match.index) });
    parts.push({ placeholder: name, path: name.split('.') });
    end = match.index + match[0].length;
  }
  if (end < source.length) parts.push({ literal: source.slice(end) });
  return { source, parts };
}

export function renderTemplate(template: Template, payload: Json): Rendered {
  const rendered: Rendered = { text: '', unresolved: [], cut: [] };
  for (const part of template.parts) {
    if ('literal' in part) {
      rendered.text += part.literal;
      continue;
    }
    const value = part.placeholder === RAW ? payload : valueAt(payload, part.path);
    if (value === undefined) {
      rendered.unresolved.push(part.placeholder);
      rendered.text += `{${part.placeholder}}`;
      continue;
    }
    const written = writeValue(part.placeholder, value);
    const { text, cut } = cutText(written.text, Math.max(0, TEXT_LIMIT - rendered.text.length));
    rendered.text += text;
    if (cut || written.cut) rendered.cut.push(part.placeholder);
  }
  return rendered;
}

/** The prompt of a route without a template: exactly the payload, cut. */
export function renderPayload(payload: Json): Rendered {
  const { text, cut } = indentedJson(payload, RAW_LIMIT);
  return { text, unresolved: [], cut: cut ? [RAW] : [] };
}

function writeValue(placeholder: string, value: Json): { text: string; cut: boolean } {
  if (placeholder === RAW) return indentedJson(value, RAW_LIMIT);
  if (typeof value === 'string') return { text: value, cut: false };
  return indentedJson(value, NESTED_LIMIT);
}
