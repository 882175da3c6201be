// Changes one variable of a `.env` text and leaves the rest as it is.

import { parseEnv } from 'node:util';
import { SvcError } from '../core/errors.ts';

/** Throws `invalid_input` for a value that such a file cannot hold. */
export function setVariable(text: string, name: string, value: string): string {
  const line = `${name}=${quoted(value)}`;
  if (parseEnv(line)[name] !== value) {
    throw new SvcError('invalid_input', `The value for ${name} cannot be written to .env.`, {
      help: 'It must be one line without quotes of every kind in it.',
    });
  }
  const lines = text.split('\n');
  const at = lines.findLastIndex((one) => new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=`).test(one));
  if (at >= 0) return lines.with(at, line).join('\n');
  return `${text === '' || text.endsWith('\n') ? text : `${text}\n`}${line}\n`;
}

function quoted(value: string): string {
  if (/^[\w./:@+-]*$/.test(value)) return value;
  const quote = ["'", '"', '`'].find((one) => !value.includes(one));
  return `${quote ?? "'"}${value}${quote ?? "'"}`;
}
