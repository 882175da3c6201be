// JSON from strangers: parsed with a depth limit, read by path, written with a length limit that holds while writing.
// Lengths count code points, so that a cut never leaves half a character.

/** Whole numbers that a double cannot hold stay exact as bigint: they are ids, and a neighbour's id is a wrong one. */
export type Json = null | boolean | number | bigint | string | Json[] | { [key: string]: Json };

/** Nothing a real sender produces comes near; deeper values make recursive readers (ours and others') fall over. */
const MAX_DEPTH = 64;

export type ParsedJson = { kind: 'json'; value: Json } | { kind: 'invalid'; reason: string };

/** Parses one JSON text. Refuses nesting beyond 64 before parsing, and strings that are not well-formed Unicode. */
export function parseJson(text: string): ParsedJson {
  if (deeperThan(text, MAX_DEPTH)) return { kind: 'invalid', reason: `nested deeper than ${MAX_DEPTH} levels` };
  try {
    const value: Json = LONG_NUMBER.test(text) ? JSON.parse(text, keepExact) : JSON.parse(text);
    if (text.includes('\\u') && !isWellFormed(value))
      return { kind: 'invalid', reason: 'contains half of a surrogate pair' };
    return { kind: 'json', value };
  } catch {
    return { kind: 'invalid', reason: 'not valid JSON' };
  }
}

const LONG_NUMBER = /\d{16}/;

/** The third argument is the text of the number; TypeScript's library does not know it yet. */
function keepExact(_key: string, value: Json, context?: { source?: string }): Json {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? '';
  return /^-?\d+$/.test(source) ? BigInt(source) : value;
}

/** The value at a path of own keys and list indexes, or undefined: never an inherited property, never `__proto__`. */
export function valueAt(value: Json, path: readonly string[]): Json | undefined {
  let current: Json | undefined = value;
  for (const key of path) {
    if (Array.isArray(current)) {
      current = /^(0|[1-9]\d{0,8})$/.test(key) ? current[Number(key)] : undefined;
    } else if (typeof current === 'object' && current !== null) {
      current = key !== '__proto__' && Object.hasOwn(current, key) ? current[key] : undefined;
    } else return undefined;
    if (current === undefined) return undefined;
  }
  return current;
}

export interface CutText {
  text: string;
  cut: boolean;
}

/** The first `limit` code points. */
export function cutText(text: string, limit: number): CutText {
  if (text.length <= limit) return { text, cut: false };
  let end = 0;
  for (let count = 0; count < limit && end < text.length; count++) {
    const unit = text.charCodeAt(end);
    end += unit >= 0xd800 && unit <= 0xdbff && end + 1 < text.length ? 2 : 1;
  }
  return end >= text.length ? { text, cut: false } : { text: text.slice(0, end), cut: true };
}

/** `JSON.stringify(value, null, 2)` cut to `limit` code points, without ever building much more than that. */
export function indentedJson(value: Json, limit: number): CutText {
  // Two units per code point at most: once that much is written, the cut is certain.
  const out: Output = { text: '', room: limit * 2 + 1 };
  write(out, value, '\n');
  return cutText(out.text, limit);
}

interface Output {
  text: string;
  room: number;
}

function put(out: Output, piece: string): void {
  out.text += piece;
  out.room -= piece.length;
}

function write(out: Output, value: Json, lineStart: string): void {
  if (out.room <= 0) return;
  if (typeof value === 'string') put(out, quoted(value, out.room));
  else if (typeof value === 'bigint') put(out, String(value));
  else if (typeof value !== 'object' || value === null) put(out, JSON.stringify(value));
  else if (Array.isArray(value)) writeList(out, value, lineStart);
  else writeObject(out, value, lineStart);
}

function writeList(out: Output, list: readonly Json[], lineStart: string): void {
  const inner = `${lineStart}  `;
  for (let index = 0; index < list.length && out.room > 0; index++) {
    put(out, index === 0 ? `[${inner}` : `,${inner}`);
    write(out, list[index] ?? null, inner);
  }
  put(out, list.length === 0 ? '[]' : `${lineStart}]`);
}

function writeObject(out: Output, object: { [key: string]: Json }, lineStart: string): void {
  const inner = `${lineStart}  `;
  let first = true;
  for (const key of Object.keys(object)) {
    if (out.room <= 0) return;
    put(out, `${first ? '{' : ','}${inner}${quoted(key, out.room)}: `);
    first = false;
    write(out, object[key] ?? null, inner);
  }
  put(out, first ? '{}' : `${lineStart}}`);
}

/** A string literal; only as much of a long one as can still be seen. */
const quoted = (text: string, room: number): string =>
  JSON.stringify(text.length > room ? cutText(text, room).text : text);

function deeperThan(text: string, limit: number): boolean {
  // Most texts have fewer brackets than the limit, and searching for one character is much quicker than reading all.
  if (hasAtMost(text, '{', '[', limit)) return false;
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (inString) {
      if (unit === 0x5c) index++;
      else if (unit === 0x22) inString = false;
    } else if (unit === 0x22) inString = true;
    else if (unit === 0x7b || unit === 0x5b) {
      if (++depth > limit) return true;
    } else if (unit === 0x7d || unit === 0x5d) depth--;
  }
  return false;
}

function hasAtMost(text: string, one: string, other: string, limit: number): boolean {
  let count = 0;
  for (const bracket of [one, other]) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1))
      if (++count > limit) return false;
  }
  return true;
}

function isWellFormed(value: Json): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (Array.isArray(value)) return value.every(isWellFormed);
  if (typeof value !== 'object' || value === null) return true;
  return Object.keys(value).every((key) => key.isWellFormed() && isWellFormed(value[key] ?? null));
}
