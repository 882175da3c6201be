// write_file: a whole text file, new or replaced.

import { constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { defineTool, type Tool } from '../agent/tool.ts';
import { allowPath, type FileAccess, fileFailure } from './allowed-path.ts';

export const createWriteFile = (access: FileAccess): Tool =>
  defineTool({
    name: 'write_file',
    description:
      'Writes a text file; creates it and its folders, or replaces its contents. Relative paths start in the work folder. ' +
      'To change a part of an existing file use edit_file.',
    input: z.object({
      path: z.string().min(1).describe('The file.'),
      content: z.string().describe('Its whole new text.'),
    }),
    toolsets: ['files', 'core'],
    parallel: false,
    async run({ path, content }, context) {
      const allowed = await allowPath(access, context, path);
      if (allowed.kind === 'refused') return { output: allowed.reason, failed: true };
      try {
        await mkdir(dirname(allowed.path), { recursive: true });
        await replaceText(allowed.path, content);
      } catch (error) {
        return fileFailure(path, error);
      }
      const verb = allowed.exists ? 'Replaced' : 'Created';
      return { output: `${verb} ${allowed.shown} (${Buffer.byteLength(content)} bytes).` };
    },
  });

/** Writes through a path without links. Throws what the file system says. */
export async function replaceText(path: string, content: string): Promise<void> {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    await file.writeFile(content);
  } finally {
    await file.close();
  }
}
