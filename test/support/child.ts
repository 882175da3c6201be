// A Node process of our own that tests may watch and kill.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Child {
  readonly process: ChildProcess;
  /** What it wrote to stdout so far. */
  output(): string;
  /** Resolves when its output has this text; rejects when it ends before. */
  says(text: string): Promise<void>;
  /** Kills it as a power cut would and waits until it is gone. */
  kill(): Promise<void>;
  ended(): Promise<{ code: number | null; errors: string }>;
}

const alive = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

export function startNode(args: readonly string[], options: { env?: NodeJS.ProcessEnv } = {}): Child {
  return startChild([process.execPath, ...args], options);
}

export function startChild(
  [command = '', ...args]: readonly string[],
  options: { env?: NodeJS.ProcessEnv } = {},
): Child {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...options.env } });
  alive.add(child);
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const closed = once(child, 'close').then(([code]) => {
    alive.delete(child);
    return { code: code as number | null, errors };
  });
  return {
    process: child,
    output: () => output,
    says: async (text) => {
      while (!output.includes(text)) {
        if (child.exitCode !== null || child.signalCode !== null) {
          throw new Error(`It ended without saying "${text}": ${output}${errors}`);
        }
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    kill: async () => {
      child.kill('SIGKILL');
      await closed;
    },
    ended: () => closed,
  };
}
