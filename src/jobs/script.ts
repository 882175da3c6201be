// A job's script: which file may be one, and one run of it. It runs by its shebang or extension, never through a shell of
// ours, in its own process group, with a time limit, an output cap and none of our secrets in its environment.

import { open, realpath, stat } from 'node:fs/promises';
import { dirname, extname, isAbsolute, join, relative, resolve } from 'node:path';
import { messageOf } from '../core/errors.ts';
import { runProcess } from '../system/process.ts';

const MAX_OUTPUT_BYTES = 64 * 1024;
const SHOWN_STDERR = 1000;
const SHEBANG_BYTES = 256;
const ANYONE_MAY_WRITE = 0o002;
const ANYONE_MAY_EXECUTE = 0o111;

const INTERPRETERS: Readonly<Record<string, string>> = {
  '.sh': 'sh',
  '.bash': 'bash',
  '.py': 'python3',
  '.js': process.execPath,
  '.mjs': process.execPath,
  '.cjs': process.execPath,
  '.ts': process.execPath,
  '.rb': 'ruby',
  '.pl': 'perl',
};

/** What a script sees of our environment. */
const PASSED_ON = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TZ', 'TMPDIR', 'TERM', 'XDG_RUNTIME_DIR'];

export interface ScriptPlaces {
  /** `<home>/scripts`. */
  scripts: string;
  /** The folder the person was in, for relative paths; absent when nobody was. */
  cwd?: string;
  /** True keeps the script inside the scripts folder, also after links are resolved. */
  confined: boolean;
}

export type FoundScript = { kind: 'found'; path: string } | { kind: 'refused'; reason: string; help: string };

/** Finds the file that a job names and checks that it can be a script. */
export async function findScript(name: string, places: ScriptPlaces): Promise<FoundScript> {
  const help = places.confined
    ? `Put the file into ${places.scripts} and name it without a path.`
    : `Give an absolute path, or a file in ${places.scripts}.`;
  const refused = (reason: string, advice = help): FoundScript => ({ kind: 'refused', reason, help: advice });
  if (name.includes('\0') || name.length > 4096) return refused('That is not a file name.');
  const candidates = isAbsolute(name)
    ? [name]
    : [
        join(places.scripts, name),
        ...(places.cwd !== undefined && !places.confined ? [resolve(places.cwd, name)] : []),
      ];
  for (const candidate of candidates) {
    const path = await realpath(candidate).catch(() => undefined);
    if (path === undefined) continue;
    if (places.confined && !(await isInside(path, places.scripts)))
      return refused(`${name} leads out of ${places.scripts}.`);
    const problem = await scriptProblem(path);
    if (problem) return refused(problem.reason, problem.help);
    return { kind: 'found', path: candidate };
  }
  return refused(`There is no script ${name} (looked at ${candidates.join(' and ')}).`);
}

export interface ScriptRun {
  path: string;
  places: ScriptPlaces;
  env: NodeJS.ProcessEnv;
  /** Facts about the slot, e.g. SVC_JOB_NAME. */
  facts: Readonly<Record<string, string>>;
  timeoutMs: number;
  signal: AbortSignal;
}

export type ScriptOutcome =
  | { kind: 'printed'; output: string }
  /** Its last line was `{"wake": false}`: there is nothing to do this time. */
  | { kind: 'gated' }
  | { kind: 'failed'; reason: string };

/** Never throws. The file is looked at again: it may have changed since the job was made. */
export async function runScript(run: ScriptRun): Promise<ScriptOutcome> {
  const found = await findScript(run.path, run.places);
  if (found.kind === 'refused') return { kind: 'failed', reason: found.reason };
  const path = await realpath(found.path);
  const [command = path, ...args] = await commandOf(path);
  const outcome = await runProcess({
    command,
    args,
    cwd: dirname(path),
    env: cleanEnvironment(run.env, run.facts),
    timeoutMs: run.timeoutMs,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    signal: run.signal,
  });
  if (outcome.kind === 'not_started') return { kind: 'failed', reason: `It could not be started: ${outcome.reason}` };
  const said = outcome.stderr.trim().slice(-SHOWN_STDERR);
  const failed = (reason: string): ScriptOutcome => ({
    kind: 'failed',
    reason: said === '' ? reason : `${reason} It said: ${said}`,
  });
  if (outcome.kind === 'timed_out') return failed(`It took longer than ${run.timeoutMs / 1000} s and was ended.`);
  if (outcome.kind === 'flooded') return failed('It printed more than 2 GB and was ended.');
  if (outcome.kind === 'aborted')
    return failed('The gateway was stopped while it ran; it is not started again by itself.');
  if (outcome.kind === 'killed') return failed(`It was ended by ${outcome.signal}.`);
  if (outcome.code !== 0) return failed(`It ended with exit code ${outcome.code}.`);
  if (isGate(outcome.stdout)) return { kind: 'gated' };
  return { kind: 'printed', output: outcome.stdout };
}

/** True when the last line that is not empty is a JSON object with `"wake": false`. */
export function isGate(output: string): boolean {
  const line = output.trimEnd().split('\n').at(-1)?.trim() ?? '';
  if (!line.startsWith('{') || line.length > 10_000) return false;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && 'wake' in value && value.wake === false;
  } catch {
    return false;
  }
}

async function scriptProblem(path: string): Promise<{ reason: string; help: string } | undefined> {
  const status = await stat(path);
  if (!status.isFile()) return { reason: `${path} is not a file.`, help: 'Name a script file.' };
  if (process.platform !== 'win32' && status.mode & ANYONE_MAY_WRITE)
    return { reason: `Everybody on this machine may change ${path}.`, help: `Run \`chmod o-w ${path}\`.` };
  const first = await firstLine(path).catch((error: unknown) => new Error(messageOf(error)));
  if (first instanceof Error)
    return { reason: `${path} cannot be read: ${first.message}`, help: 'Check its permissions.' };
  if (first.startsWith('#!') || INTERPRETERS[extname(path)] !== undefined) return undefined;
  if (status.mode & ANYONE_MAY_EXECUTE) return undefined;
  return {
    reason: `${path} is not executable, has no #! line and no known extension.`,
    help: `Run \`chmod +x ${path}\`, begin it with \`#!/bin/sh\`, or name it .sh, .py or .js.`,
  };
}

async function commandOf(path: string): Promise<string[]> {
  const shebang = /^#!\s*(\S+)(?:[ \t]+(.*\S))?\s*$/.exec(await firstLine(path));
  // As the kernel does it: the interpreter, and the rest of the line as one argument. It need not be executable for that.
  if (shebang?.[1] !== undefined) return [shebang[1], ...(shebang[2] === undefined ? [] : [shebang[2]]), path];
  const interpreter = INTERPRETERS[extname(path)];
  return interpreter === undefined ? [path] : [interpreter, path];
}

async function firstLine(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(SHEBANG_BYTES), 0, SHEBANG_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead).split('\n', 1)[0] ?? '';
  } finally {
    await file.close();
  }
}

async function isInside(path: string, folder: string): Promise<boolean> {
  const root = await realpath(folder).catch(() => resolve(folder));
  const way = relative(root, path);
  return way !== '' && !way.startsWith('..') && !isAbsolute(way);
}

function cleanEnvironment(env: NodeJS.ProcessEnv, facts: Readonly<Record<string, string>>): Record<string, string> {
  const clean: Record<string, string> = { PATH: '/usr/local/bin:/usr/bin:/bin' };
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && (PASSED_ON.includes(name) || name.startsWith('LC_'))) clean[name] = value;
  }
  return { ...clean, ...facts };
}
