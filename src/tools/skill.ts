// skill: loads one skill, or a file that comes with it.

import { readdir, realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { z } from 'zod';
import type { Skill, Skills } from '../agent/skills.ts';
import { defineTool, type Tool, type ToolResult } from '../agent/tool.ts';
import { fileFailure, isInside } from './allowed-path.ts';
import { readText } from './read-file.ts';

const MAX_LISTED = 100;

export const createSkillTool = (skills: Skills): Tool =>
  defineTool({
    name: 'skill',
    description:
      'Loads a skill: written instructions for a kind of task. Call it before you start such a task and follow what it says. ' +
      'With file it returns a file that the skill refers to.',
    input: z.object({
      name: z.string().min(1).describe('Name of the skill.'),
      file: z.string().min(1).optional().describe('A file of the skill, relative to its folder.'),
    }),
    toolsets: ['skills', 'core'],
    parallel: true,
    async run({ name, file }) {
      const found = await skills.find(name);
      if (found.kind === 'broken') return { output: found.reason, failed: true };
      if (found.kind === 'missing') {
        const known = found.available.length === 0 ? 'There are none.' : `There are: ${found.available.join(', ')}.`;
        return { output: `There is no skill "${name}". ${known}`, failed: true };
      }
      return file === undefined ? wholeSkill(found.skill) : skillFile(found.skill, file);
    },
  });

async function wholeSkill(skill: Skill): Promise<ToolResult> {
  const files = await filesOf(skill);
  const list = files.length === 0 ? '' : `\n\nFiles of this skill: ${files.join(', ')}`;
  return { output: `${skill.text.trim()}${list}` };
}

async function skillFile(skill: Skill, file: string): Promise<ToolResult> {
  try {
    const path = await realpath(join(skill.folder, file));
    if (!isInside(path, await realpath(skill.folder))) {
      return { output: `${file} is not inside the skill's folder.`, failed: true };
    }
    const text = await readText(path);
    return text.kind === 'text' ? { output: text.text } : fileFailure(file, text.reason);
  } catch (error) {
    return fileFailure(file, error);
  }
}

async function filesOf(skill: Skill): Promise<string[]> {
  const entries = await readdir(skill.folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !(entry.parentPath === skill.folder && entry.name === 'SKILL.md'))
    .map((entry) => relative(skill.folder, join(entry.parentPath, entry.name)))
    .sort()
    .slice(0, MAX_LISTED);
}
