// search_files: lines that match, or files by name, below one allowed folder. Links are not followed.
// Matching is grep's work, in a process of its own: a bad pattern can hold up nothing but itself.

import { existsSync } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { matchesGlob, relative } from 'node:path';
import { z } from 'zod';
import { defineTool, type Tool, type ToolResult } from '../agent/tool.ts';
import { runProcess } from '../system/process.ts';
import { allowPath, type FileAccess, fileFailure } from './allowed-path.ts';

const MAX_RESULTS = 200;
const MAX_LINE_LENGTH = 300;
const MAX_VISITED = 100_000;
const TIMEOUT_MS = 30_000;
const LEFT_OUT = ['.git', 'node_modules'];
const GREPS = ['/usr/bin/grep', '/bin/grep'];

export const createSearchFiles = (access: FileAccess): Tool =>
  defineTool({
    name: 'search_files',
    description:
      'Searches files below a folder. With pattern: lines that match this extended regular expression, as path:line:text. ' +
      'Without: names of files, filtered with glob. The folders .git and node_modules are left out.',
    input: z.object({
      pattern: z.string().min(1).max(1000).optional().describe('Extended regular expression, as for grep -E.'),
      path: z.string().min(1).default('.').describe('The folder or file to search.'),
      glob: z.string().min(1).max(200).optional().describe('Only files whose name matches, e.g. *.ts'),
      ignore_case: z.boolean().default(false).describe('Capital and small letters are the same.'),
    }),
    toolsets: ['files', 'core'],
    parallel: true,
    async run({ pattern, path, glob, ignore_case: ignoreCase }, context) {
      const allowed = await allowPath(access, context, path);
      if (allowed.kind === 'refused') return { output: allowed.reason, failed: true };
      if (!allowed.exists) return { output: `${path}: there is no such file or folder`, failed: true };
      return pattern === undefined
        ? findNames(allowed.path, glob, context.signal)
        : findLines(allowed.path, { pattern, glob, ignoreCase }, context.signal);
    },
  });

async function findLines(
  path: string,
  query: { pattern: string; glob: string | undefined; ignoreCase: boolean },
  signal: AbortSignal,
): Promise<ToolResult> {
  const grep = GREPS.find((file) => existsSync(file));
  if (grep === undefined) return { output: 'There is no grep on this machine; search by name instead.', failed: true };
  const outcome = await runProcess({
    command: grep,
    args: [
      ...['-r', '-n', '-I', '-E', '-H', '-m', String(MAX_RESULTS)],
      ...(query.ignoreCase ? ['-i'] : []),
      ...LEFT_OUT.map((name) => `--exclude-dir=${name}`),
      ...(query.glob === undefined ? [] : [`--include=${query.glob}`]),
      ...['-e', query.pattern, '--', path],
    ],
    cwd: '/',
    env: { LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' },
    timeoutMs: TIMEOUT_MS,
    maxOutputBytes: 256 * 1024,
    signal,
  });
  if (outcome.kind === 'not_started') return { output: outcome.reason, failed: true };
  // Exit code 2 with results means that some files could not be read; the rest still counts.
  if (outcome.stdout === '' && outcome.kind === 'exited' && outcome.code > 1) {
    return { output: outcome.stderr.trim() || 'The search failed.', failed: true };
  }
  const note =
    outcome.kind === 'timed_out' ? [`[stopped after ${TIMEOUT_MS / 1000} s; narrow it down with path or glob]`] : [];
  const prefix = `${path}/`;
  const lines = outcome.stdout.split('\n').filter((line) => line !== '');
  const shown = lines.map((line) => cut(line.startsWith(prefix) ? line.slice(prefix.length) : line));
  return report(shown, note);
}

async function findNames(path: string, glob: string | undefined, signal: AbortSignal): Promise<ToolResult> {
  const found: string[] = [];
  const waiting = [path];
  let visited = 0;
  try {
    for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
      for await (const entry of await opendir(folder)) {
        if (signal.aborted || ++visited > MAX_VISITED || found.length > MAX_RESULTS) break;
        const whole = `${folder}/${entry.name}`;
        const name = relative(path, whole);
        if (entry.isDirectory() && !LEFT_OUT.includes(entry.name)) waiting.push(whole);
        else if (glob === undefined || matchesGlob(entry.name, glob) || matchesGlob(name, glob)) found.push(name);
      }
    }
  } catch (error) {
    return fileFailure(path, error);
  }
  return report(found.sort(), visited > MAX_VISITED ? [`[stopped after ${MAX_VISITED} files; narrow it down]`] : []);
}

function report(lines: readonly string[], notes: readonly string[]): ToolResult {
  const shown = lines.slice(0, MAX_RESULTS);
  const more = lines.length > shown.length ? [`[more than ${MAX_RESULTS} results; narrow it down]`] : [];
  const all = [...shown, ...more, ...notes];
  return { output: all.length === 0 ? 'Nothing found.' : all.join('\n') };
}

const cut = (line: string): string =>
  line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH).toWellFormed()} [... cut]` : line;
