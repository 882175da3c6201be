// Runs one child process to its end: bounded in time and output, and no descendant outlives it.
// Children get exactly the environment they are given: never the secrets of this process.

import { type ChildProcess, spawn } from 'node:child_process';
import { messageOf } from '../core/errors.ts';
import { type BoundedOutput, createBoundedOutput } from './bounded-output.ts';

// Reading and throwing away costs as much processor time as the child cares to burn: at some point it is enough.
const FLOOD_BYTES = 2 ** 31;

export interface ProcessOptions {
  command: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  timeoutMs: number;
  /** Of each stream; what stands between the first and last half of it is dropped as it arrives. */
  maxOutputBytes: number;
  /** True puts stderr into stdout in the order of arrival, as a terminal would show it. */
  mergeStderr?: boolean;
  /** Written to its standard input; without it the child reads an end of file. */
  input?: string;
  /** Texts for further file descriptors, from 3 on. */
  files?: readonly string[];
  signal?: AbortSignal;
}

export interface ProcessOutput {
  stdout: string;
  stderr: string;
  /** Bytes that were dropped from the middle of both streams. */
  droppedBytes: number;
}

export type ProcessOutcome =
  | ({ kind: 'exited'; code: number } & ProcessOutput)
  /** Ended by a signal that did not come from here. */
  | ({ kind: 'killed'; signal: string } & ProcessOutput)
  | ({ kind: 'timed_out' } & ProcessOutput)
  | ({ kind: 'aborted' } & ProcessOutput)
  /** It printed so much that it was ended. */
  | ({ kind: 'flooded' } & ProcessOutput)
  | { kind: 'not_started'; reason: string };

/** Never throws. Resolves when the child and its whole process group are gone. */
export function runProcess(options: ProcessOptions): Promise<ProcessOutcome> {
  if (options.signal?.aborted) return Promise.resolve({ kind: 'aborted', stdout: '', stderr: '', droppedBytes: 0 });
  return new Promise((resolve) => {
    let child: ChildProcess;
    try {
      child = start(options);
    } catch (error) {
      resolve({ kind: 'not_started', reason: messageOf(error) });
      return;
    }
    const stdout = createBoundedOutput(options.maxOutputBytes);
    const stderr = options.mergeStderr ? stdout : createBoundedOutput(options.maxOutputBytes);
    let ended: 'timed_out' | 'aborted' | 'flooded' | undefined;
    let settled = false;

    const end = (why: 'timed_out' | 'aborted' | 'flooded') => {
      ended ??= why;
      killGroup(child);
    };
    const onAbort = () => end('aborted');
    const timer = setTimeout(() => end('timed_out'), Math.min(options.timeoutMs, 2 ** 31 - 1));
    options.signal?.addEventListener('abort', onAbort, { once: true });

    const finish = (outcome: ProcessOutcome) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', onAbort);
      resolve(outcome);
    };

    const collect = (output: BoundedOutput) => (chunk: Buffer) => {
      output.add(chunk);
      if (output.totalBytes() > FLOOD_BYTES) end('flooded');
    };
    child.stdout?.on('data', collect(stdout));
    child.stderr?.on('data', collect(stderr));
    child.on('error', (error) => finish({ kind: 'not_started', reason: messageOf(error) }));
    // A background child may hold the pipes open: the group goes first, then `close` comes.
    child.on('exit', () => killGroup(child));
    child.on('close', (code, signal) => {
      const output: ProcessOutput = {
        stdout: stdout.text(),
        stderr: options.mergeStderr ? '' : stderr.text(),
        droppedBytes: stdout.droppedBytes() + (options.mergeStderr ? 0 : stderr.droppedBytes()),
      };
      if (ended) finish({ kind: ended, ...output });
      else if (code === null) finish({ kind: 'killed', signal: signal ?? 'unknown', ...output });
      else finish({ kind: 'exited', code, ...output });
    });
  });
}

function start(options: ProcessOptions): ChildProcess {
  const files = options.files ?? [];
  const child = spawn(options.command, options.args, {
    cwd: options.cwd,
    env: { ...options.env },
    // A group of its own, so that everything it started can be ended with it.
    detached: true,
    windowsHide: true,
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', ...files.map(() => 'pipe' as const)],
  });
  // A child that does not read its input ends the pipe early; that is its own business.
  const feed = (stream: unknown, text: string) => {
    if (!(stream instanceof Object) || !('end' in stream)) return;
    const writable = stream as NodeJS.WritableStream;
    writable.on('error', () => {});
    writable.end(text);
  };
  if (options.input !== undefined) feed(child.stdin, options.input);
  files.forEach((text, index) => {
    feed(child.stdio[index + 3], text);
  });
  return child;
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The group is gone already, or the platform has none.
    child.kill('SIGKILL');
  }
}
