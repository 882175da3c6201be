// The line a person types in: readline with a history file. While the agent answers, the line stays invisible but keeps
// what is typed; lines that arrive together (a paste) are one message.

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { showInvisible } from '../core/untrusted.ts';
import { writeFileAtomic } from '../system/files.ts';

const HISTORY_SIZE = 1000;
const PASTE_MS = 25;

export interface ChatInput {
  /** The next message, or undefined when the person left (Ctrl-D, end of the pipe). */
  next(prompt: string): Promise<string | undefined>;
  /** Hides the line while something else is written. */
  mute(): void;
  /** Writes text above the line that is being typed. */
  above(write: () => void): void;
  close(): void;
}

export interface ChatInputOptions {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  historyFile: string;
  /** Ctrl-C; `line` is what stands in the line. */
  onInterrupt(line: string): void;
  /** A message that was typed while muted. Return true when it was dealt with; else it is the next message. */
  onEarly(message: string): boolean;
}

export function createChatInput(options: ChatInputOptions): ChatInput {
  const { stdin, stdout, historyFile } = options;
  const terminal = stdin.isTTY === true && stdout.isTTY === true;
  let muted = true;
  const gate = Object.assign(
    new Writable({
      write(chunk, _encoding, done) {
        if (!muted) stdout.write(chunk);
        done();
      },
    }),
    { isTTY: true },
  );
  Object.defineProperty(gate, 'columns', { get: () => stdout.columns });
  const onResize = () => gate.emit('resize');
  stdout.on('resize', onResize);

  const readline = createInterface({
    input: stdin,
    ...(terminal ? { output: gate, history: readHistory(historyFile) } : {}),
    terminal,
    historySize: HISTORY_SIZE,
    removeHistoryDuplicates: true,
    escapeCodeTimeout: 50,
  });

  const ready: string[] = [];
  let waiting: ((message: string | undefined) => void) | undefined;
  let closed = false;
  let lines: string[] = [];
  let pasteTimer: NodeJS.Timeout | undefined;

  const deliver = () => {
    const message = lines.join('\n');
    lines = [];
    if (!waiting && options.onEarly(message)) return;
    if (!waiting) {
      ready.push(message);
      return;
    }
    const take = waiting;
    waiting = undefined;
    muted = true;
    take(message);
  };
  readline.on('line', (line) => {
    lines.push(line);
    clearTimeout(pasteTimer);
    if (terminal) pasteTimer = setTimeout(deliver, PASTE_MS);
    else deliver();
  });
  readline.on('history', (history: string[]) => saveHistory(historyFile, history));
  readline.on('SIGINT', () => {
    const { line } = readline;
    // Ctrl-U before the cursor and Ctrl-K behind it. What was typed ahead during an answer stays for afterwards.
    if (line !== '' && !muted) {
      readline.write(null, { ctrl: true, name: 'u' });
      readline.write(null, { ctrl: true, name: 'k' });
    }
    options.onInterrupt(line);
  });
  readline.on('close', () => {
    closed = true;
    stdout.off('resize', onResize);
    waiting?.(undefined);
    waiting = undefined;
  });

  return {
    next(prompt) {
      const early = ready.shift();
      if (early !== undefined) {
        if (terminal) stdout.write(`${prompt}${showInvisible(early)}\n`);
        return Promise.resolve(early);
      }
      if (closed) return Promise.resolve(undefined);
      return new Promise((resolve) => {
        waiting = resolve;
        muted = false;
        if (!terminal) return;
        readline.setPrompt(prompt);
        readline.prompt(true);
      });
    },
    mute() {
      muted = true;
    },
    above(write) {
      if (terminal && waiting) stdout.write('\r\u001b[0J');
      write();
      if (terminal && waiting) readline.prompt(true);
    },
    close() {
      clearTimeout(pasteTimer);
      readline.close();
    },
  };
}

function readHistory(file: string): string[] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n');
    return lines.filter((line) => line !== '').reverse();
  } catch {
    return [];
  }
}

function saveHistory(file: string, newestFirst: readonly string[]): void {
  const lines = newestFirst.filter((line) => line.trim() !== '' && !line.startsWith(' ')).toReversed();
  try {
    writeFileAtomic(file, `${lines.join('\n')}\n`);
  } catch {
    // A chat without a history is better than none.
  }
}
