// The program on a terminal of its own: keys in, screen out. What is written is kept whole, without colours and moves.

import { resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { spawn } from '@lydell/node-pty';
import { until } from './until.ts';

const launcher = resolve(import.meta.dirname, '../../bin/svc');

export interface PseudoTerminal {
  /** Types the text as it is; `\r` is Enter, `\u0003` Ctrl-C. */
  type(keys: string): void;
  /** Waits until the text was written after the last thing waited for, and returns everything up to it. */
  shows(text: string | RegExp): Promise<string>;
  /** The bytes as they came. */
  raw(): string;
  /** Resolves with the exit code when the program ends. */
  readonly exited: Promise<number>;
  /** True until then. */
  readonly running: boolean;
  kill(): void;
}

export function openTerminal(args: readonly string[], env: Record<string, string>): PseudoTerminal {
  const terminal = spawn(process.execPath, [launcher, ...args], {
    cols: 80,
    rows: 30,
    name: 'xterm-256color',
    cwd: env.SVC_HOME ?? '/',
    env: { PATH: process.env.PATH ?? '', TERM: 'xterm-256color', ...env },
  });
  let raw = '';
  let seen = 0;
  let running = true;
  const exited = new Promise<number>((resolveCode) => {
    terminal.onExit(({ exitCode }) => {
      running = false;
      resolveCode(exitCode);
    });
  });
  terminal.onData((data) => {
    raw += data;
  });
  const text = () => stripVTControlCharacters(raw).replaceAll('\r', '');
  return {
    type: (keys) => terminal.write(keys),
    async shows(wanted) {
      return until(() => {
        const fresh = text().slice(seen);
        const at = typeof wanted === 'string' ? fresh.indexOf(wanted) : fresh.search(wanted);
        if (at === -1) return undefined;
        const length = typeof wanted === 'string' ? wanted.length : (wanted.exec(fresh)?.[0].length ?? 0);
        seen += at + length;
        return fresh.slice(0, at + length);
      }).catch(() => {
        throw new Error(`The terminal did not show ${wanted}. It showed:\n${text().slice(seen)}`);
      });
    },
    raw: () => raw,
    exited,
    get running() {
      return running;
    },
    kill: () => terminal.kill('SIGKILL'),
  };
}
