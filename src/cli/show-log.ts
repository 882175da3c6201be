// `svc gateway logs`: the end of the log file, and what is added to it, also across rotations.

import { type FileHandle, open, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { homePaths, resolveHome } from '../config/paths.ts';
import { SvcError } from '../core/errors.ts';
import { isMissing } from '../system/files.ts';
import { terminalSink } from '../system/log-sinks.ts';
import type { CliContext } from './command.ts';

const POLL_MS = 250;
const CHUNK_BYTES = 64 * 1024;

export async function showLog(
  context: CliContext,
  options: { follow: boolean; lines: string; json: boolean },
): Promise<void> {
  const count = Number(options.lines);
  if (!Number.isInteger(count) || count < 0) {
    throw new SvcError('usage', `--lines must be a whole number, not "${options.lines}".`, { help: 'e.g. -n 100' });
  }
  const path = homePaths(resolveHome(context.env)).gatewayLog;
  const print = printer(context, options.json);
  let file = await openLog(path);
  const begin = await lastLinesStart(file, count);
  let { rest, position } = await readOn(file, begin, '', print);
  while (options.follow) {
    await delay(POLL_MS);
    ({ rest, position } = await readOn(file, position, rest, print));
    const current = await stat(path).catch(() => undefined);
    if (current !== undefined && current.ino !== (await file.stat()).ino) {
      await file.close();
      file = await openLog(path);
      position = 0;
    }
  }
  await file.close();
}

async function openLog(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new SvcError('not_found', `There is no log yet at ${path}.`, { help: '`svc gateway` starts the gateway.' });
  }
}

function printer({ stdout }: CliContext, json: boolean): (line: string) => void {
  const readable = terminalSink(stdout);
  return (line) => {
    if (json || !line.startsWith('{')) stdout.write(`${line}\n`);
    else readable.write(line);
  };
}

/** Prints whole lines from `position` on; an unfinished last line is kept for the next time. */
async function readOn(file: FileHandle, from: number, rest: string, print: (line: string) => void) {
  const decoder = new TextDecoder();
  const buffer = Buffer.alloc(CHUNK_BYTES);
  let position = from;
  let pending = rest;
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) return { rest: pending, position };
    position += bytesRead;
    const lines = (pending + decoder.decode(buffer.subarray(0, bytesRead), { stream: true })).split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines) print(line);
  }
}

/** Where the last `count` lines begin, found from the end so that a large log is not read whole. */
async function lastLinesStart(file: FileHandle, count: number): Promise<number> {
  const { size } = await file.stat();
  const buffer = Buffer.alloc(CHUNK_BYTES);
  let seen = 0;
  for (let end = size; end > 0; ) {
    const begin = Math.max(0, end - CHUNK_BYTES);
    const { bytesRead } = await file.read(buffer, 0, end - begin, begin);
    for (let index = bytesRead - 1; index >= 0; index -= 1) {
      if (buffer[index] !== 0x0a) continue;
      // The newline at the very end closes the last line and begins none.
      if (begin + index + 1 === size) continue;
      seen += 1;
      if (seen === count) return begin + index + 1;
    }
    end = begin;
  }
  return count === 0 ? size : 0;
}
