// edit_file: replaces one exact piece of a text file.

import { z } from 'zod';
import { defineTool, type Tool } from '../agent/tool.ts';
import { allowPath, type FileAccess, fileFailure } from './allowed-path.ts';
import { readText } from './read-file.ts';
import { replaceText } from './write-file.ts';

export const createEditFile = (access: FileAccess): Tool =>
  defineTool({
    name: 'edit_file',
    description:
      'Replaces a piece of a text file. old_text must stand in the file exactly as given, with its blanks, and only once ' +
      '(add surrounding lines to make it unique), unless replace_all is set.',
    input: z.object({
      path: z.string().min(1).describe('The file.'),
      old_text: z.string().min(1).describe('The text to replace.'),
      new_text: z.string().describe('What stands there afterwards.'),
      replace_all: z.boolean().default(false).describe('Replace every occurrence.'),
    }),
    toolsets: ['files', 'core'],
    parallel: false,
    async run({ path, old_text: before, new_text: after, replace_all: all }, context) {
      const allowed = await allowPath(access, context, path);
      if (allowed.kind === 'refused') return { output: allowed.reason, failed: true };
      const file = await readText(allowed.path);
      if (file.kind === 'failed') return fileFailure(path, file.reason);
      const pieces = file.text.split(before);
      const found = pieces.length - 1;
      if (found === 0) {
        return {
          output: `old_text does not stand in ${allowed.shown}. Read the file again and copy it exactly.`,
          failed: true,
        };
      }
      if (found > 1 && !all) {
        const output = `old_text stands ${found} times in ${allowed.shown}. Add surrounding lines, or set replace_all.`;
        return { output, failed: true };
      }
      try {
        await replaceText(allowed.path, pieces.join(after));
      } catch (error) {
        return fileFailure(path, error);
      }
      return { output: `Replaced ${found} ${found === 1 ? 'place' : 'places'} in ${allowed.shown}.` };
    },
  });
