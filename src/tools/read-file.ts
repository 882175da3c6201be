// read_file: lines of one text file.

import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { z } from 'zod';
import { defineTool, type Tool } from '../agent/tool.ts';
import { allowPath, type FileAccess, fileFailure } from './allowed-path.ts';

export const MAX_FILE_BYTES = 20 * 1024 * 1024;
const MAX_LINES = 2000;
const MAX_LINE_LENGTH = 2000;
const MAX_TEXT_LENGTH = 60_000;

export const createReadFile = (access: FileAccess): Tool =>
  defineTool({
    name: 'read_file',
    description:
      'Reads a text file and returns its lines with their numbers. Relative paths start in the work folder. ' +
      'For long files ask for a part with offset and limit.',
    input: z.object({
      path: z.string().min(1).describe('The file.'),
      offset: z.int().min(1).default(1).describe('First line, counted from 1.'),
      limit: z.int().min(1).max(MAX_LINES).default(MAX_LINES).describe('Number of lines.'),
    }),
    toolsets: ['files', 'core'],
    parallel: true,
    async run({ path, offset, limit }, context) {
      const allowed = await allowPath(access, context, path);
      if (allowed.kind === 'refused') return { output: allowed.reason, failed: true };
      const text = await readText(allowed.path);
      if (text.kind === 'failed') return fileFailure(path, text.reason);
      const lines = text.text.split('\n');
      if (lines.at(-1) === '') lines.pop();
      if (lines.length === 0) return { output: '(the file is empty)' };
      if (offset > lines.length) return { output: `${path} has only ${lines.length} lines.`, failed: true };
      return { output: numbered(lines, offset, limit) };
    },
  });

export type TextFile = { kind: 'text'; text: string } | { kind: 'failed'; reason: unknown };

/** The text of a regular file. Refuses folders, devices, pipes, binary and very large files instead of waiting on them. */
export async function readText(path: string): Promise<TextFile> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const info = await file.stat();
      if (!info.isFile()) return { kind: 'failed', reason: info.isDirectory() ? 'it is a folder' : 'it is not a file' };
      if (info.size > MAX_FILE_BYTES) {
        return {
          kind: 'failed',
          reason: `it has ${info.size} bytes; use the terminal or search_files for large files`,
        };
      }
      const bytes = await file.readFile();
      if (bytes.subarray(0, 8192).includes(0)) return { kind: 'failed', reason: 'it is a binary file' };
      return { kind: 'text', text: bytes.toString('utf8') };
    } finally {
      await file.close();
    }
  } catch (error) {
    return { kind: 'failed', reason: error };
  }
}

function numbered(lines: readonly string[], offset: number, limit: number): string {
  const shown: string[] = [];
  let length = 0;
  for (let number = offset; number < offset + limit && number <= lines.length; number++) {
    const line = (lines[number - 1] ?? '').replace(/\r$/, '');
    const cut = line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH).toWellFormed()} [... cut]` : line;
    length += cut.length;
    if (length > MAX_TEXT_LENGTH && shown.length > 0) break;
    shown.push(`${number}\t${cut}`);
  }
  const next = offset + shown.length;
  if (next <= lines.length) shown.push(`[${lines.length - next + 1} more lines; go on with offset ${next}]`);
  return shown.join('\n');
}
