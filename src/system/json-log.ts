// The log: one JSON line per event, on pino. Secrets are hidden by key and by value, characters that could drive a
// terminal or hide text are escaped, long values are cut. A full disk loses log lines, never a request.

import { pino } from 'pino';
import type { LogFields, Logger } from '../core/log.ts';

/** Takes one finished line, without its newline. Must not throw. */
export interface LogSink {
  write(line: string): void;
}

export interface JsonLogOptions {
  level: 'debug' | 'info' | 'warn' | 'error';
  sinks: readonly LogSink[];
  secrets?: readonly string[];
}

export interface JsonLog extends Logger {
  /** Hides these values from now on, in every line. */
  hide(secrets: readonly string[]): void;
}

const MAX_STRING = 8 * 1024;
/** Only the `log` target writes such a field: a delivered text is there to be read whole. */
const MAX_TEXT = 1024 * 1024;
const MAX_DEPTH = 6;
const MAX_ITEMS = 100;
const HIDDEN = '[hidden]';
const SECRET_KEY = /secret|token|passw|authorization|api_?key|cookie|signature/i;

export function createJsonLog(options: JsonLogOptions): JsonLog {
  const hidden = new Set<string>();
  let hide = (line: string): string => line;
  const addSecrets = (secrets: readonly string[]): void => {
    for (const secret of secrets) for (const form of formsOf(secret)) hidden.add(form);
    hide = hider(hidden);
  };
  addSecrets(options.secrets ?? []);
  const base = pino(
    {
      level: options.level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      messageKey: 'message',
    },
    {
      write(text: string) {
        const line = escapeInvisible(hide(text.trimEnd()));
        for (const sink of options.sinks) sink.write(line);
      },
    },
  );
  return { ...wrap(base), hide: addSecrets };
}

function wrap(log: pino.Logger): Logger {
  return {
    debug: (message, fields) => log.debug(clean(fields), cut(message, MAX_STRING)),
    info: (message, fields) => log.info(clean(fields), cut(message, MAX_STRING)),
    warn: (message, fields) => log.warn(clean(fields), cut(message, MAX_STRING)),
    error: (message, fields) => log.error(clean(fields), cut(message, MAX_STRING)),
    child: (fields) => wrap(log.child(clean(fields))),
  };
}

const clean = (fields: LogFields | undefined): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields ?? {}).map(([key, value]) => [key, cleanValue(key, value, 0)]));

function cleanValue(key: string, value: unknown, depth: number): unknown {
  if (typeof value === 'string') {
    return SECRET_KEY.test(key) ? HIDDEN : cut(value, key === 'text' ? MAX_TEXT : MAX_STRING);
  }
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Error) return cut(value.message, MAX_STRING);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === MAX_DEPTH) return '[...]';
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => cleanValue(key, item, depth + 1));
  const entries = Object.entries(value).slice(0, MAX_ITEMS);
  return Object.fromEntries(entries.map(([name, item]) => [name, cleanValue(name, item, depth + 1)]));
}

function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  return `${text.slice(0, max).toWellFormed()}[... ${text.length - max} more characters]`;
}

/** How a secret may stand in a line: as it is, inside a JSON string, inside a URL. */
function formsOf(secret: string): string[] {
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.toWellFormed())];
}

function hider(secrets: ReadonlySet<string>): (line: string) => string {
  if (secrets.size === 0) return (line) => line;
  // The longest first: a secret that begins like another must not leave its end behind.
  const forms = [...secrets].sort((a, b) => b.length - a.length).map((form) => RegExp.escape(form));
  const pattern = new RegExp(forms.join('|'), 'g');
  return (line) => line.replace(pattern, HIDDEN);
}

// JSON escapes only ASCII controls; direction marks, C1 controls and invisible characters pass through it.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

const escapeInvisible = (line: string): string =>
  line.replace(INVISIBLE, (character) =>
    Array.from({ length: character.length }, (_, index) => `\\u${hex(character.charCodeAt(index))}`).join(''),
  );

const hex = (unit: number): string => unit.toString(16).padStart(4, '0');
