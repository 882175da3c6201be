// Where log lines go: a file that is rotated by size, a terminal in readable form, or a stream as it is.

import { closeSync, fstatSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { styleText } from 'node:util';
import { showInvisible } from '../core/untrusted.ts';
import type { LogSink } from './json-log.ts';

export interface RotatingFile extends LogSink {
  close(): void;
}

/** Appends lines; beyond `maxBytes` the file becomes `<path>.1`, the one before `.2`, and so on. One writer per file. */
export function rotatingFile(path: string, options: { maxBytes: number; keepFiles: number }): RotatingFile {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let file: number | undefined = openSync(path, 'a', 0o600);
  let size = fstatSync(file).size;

  function rotate(): void {
    if (file !== undefined) closeSync(file);
    file = undefined;
    rmSync(`${path}.${options.keepFiles}`, { force: true });
    for (let number = options.keepFiles - 1; number >= 1; number -= 1)
      renameIfThere(`${path}.${number}`, `${path}.${number + 1}`);
    renameIfThere(path, `${path}.1`);
    file = openSync(path, 'a', 0o600);
    size = 0;
  }

  return {
    write(line) {
      const bytes = Buffer.from(`${line}\n`);
      try {
        if (size > 0 && size + bytes.length > options.maxBytes) rotate();
        file ??= openSync(path, 'a', 0o600);
        size += writeSync(file, bytes);
      } catch {
        // The disk is full or gone. A line is lost; the work that it reports is not.
      }
    },
    close() {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

const COLORS = { debug: 'gray', info: 'green', warn: 'yellow', error: 'red' } as const;

/** Readable lines for a person: time, level, message, fields. */
export function terminalSink(stream: NodeJS.WriteStream): LogSink {
  return {
    write(line) {
      const { time, level, message, ...fields } = JSON.parse(line) as Record<string, unknown>;
      const colored = stream.isTTY
        ? styleText(colorOf(level), String(level).padEnd(5), { stream })
        : String(level).padEnd(5);
      const rest = Object.entries(fields).map(([key, value]) => `${key}=${shown(value)}`);
      const clock = String(time).slice(11, 19);
      stream.write(`${clock} ${colored} ${oneLine(String(message))}${rest.length > 0 ? `  ${rest.join(' ')}` : ''}\n`);
    },
  };
}

/** JSON lines for whatever collects the output of a process without a terminal. */
export const streamSink = (stream: NodeJS.WritableStream): LogSink => ({
  write: (line) => void stream.write(`${line}\n`),
});

const colorOf = (level: unknown) =>
  typeof level === 'string' && level in COLORS ? COLORS[level as keyof typeof COLORS] : 'gray';

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return oneLine(/^[^\s"]+$/.test(text) ? text : typeof value === 'string' ? JSON.stringify(text) : text);
}

const oneLine = (text: string): string => showInvisible(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t');

function renameIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch {
    // A gap in the numbering is fine.
  }
}
