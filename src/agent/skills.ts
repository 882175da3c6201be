// Skills: folders with a SKILL.md, whose front matter names and describes them. A person's own skill comes before a bundled
// one of the same name. A broken one is told as a problem and never stops the others.

import { existsSync } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { messageOf } from '../core/errors.ts';

const FILE = 'SKILL.md';
const MAX_BYTES = 256 * 1024;

export type SkillOrigin = 'user' | 'bundled';

export interface Skill {
  name: string;
  description: string;
  origin: SkillOrigin;
  folder: string;
  /** The text below the front matter. */
  text: string;
}

export interface SkillProblem {
  path: string;
  reason: string;
}

export type FoundSkill =
  | { kind: 'found'; skill: Skill }
  | { kind: 'broken'; reason: string }
  | { kind: 'missing'; available: string[] };

export interface Skills {
  /** Reads the folders anew: what a person saves is there at the next call. */
  list(): Promise<{ skills: Skill[]; problems: SkillProblem[] }>;
  find(name: string): Promise<FoundSkill>;
}

export interface SkillRoot {
  path: string;
  origin: SkillOrigin;
}

/** `roots` in order of precedence. A root that does not exist is empty. */
export function createSkills(roots: readonly SkillRoot[]): Skills {
  async function list() {
    const skills = new Map<string, Skill>();
    const problems: SkillProblem[] = [];
    for (const root of roots) {
      for (const folder of await skillFolders(root.path)) {
        const read = await readSkill(folder, root.origin);
        if (read.kind === 'broken') problems.push({ path: join(folder, FILE), reason: read.reason });
        else if (!skills.has(read.skill.name)) skills.set(read.skill.name, read.skill);
        else if (skills.get(read.skill.name)?.origin === root.origin) {
          problems.push({ path: join(folder, FILE), reason: `Another skill is named ${read.skill.name} too.` });
        }
      }
    }
    return { skills: [...skills.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), problems };
  }
  return {
    list,
    async find(name) {
      const { skills, problems } = await list();
      const skill = skills.find((one) => one.name === name);
      if (skill) return { kind: 'found', skill };
      const broken = problems.find(({ path }) => dirname(path).endsWith(`/${name}`));
      if (broken) return { kind: 'broken', reason: `${broken.path}: ${broken.reason}` };
      return { kind: 'missing', available: skills.map((one) => one.name) };
    },
  };
}

/** The section of the system text that hands a skill to the model. */
export const skillSection = (skill: Skill): string => `# Skill: ${skill.name}\n\n${skill.text.trim()}`;

/** The section that tells which skills the `skill` tool can load; undefined when there are none. */
export function availableSkillsSection(skills: readonly Skill[]): string | undefined {
  if (skills.length === 0) return undefined;
  const lines = skills.map((skill) => `- ${skill.name}: ${skill.description}`);
  return ['Skills you can load with the tool `skill` when a task calls for them:', ...lines].join('\n');
}

/** The skills that come with the program: `skills/` beside its package.json, from source and when installed. */
export function bundledSkillsFolder(from: string = import.meta.dirname): string {
  const parent = dirname(from);
  if (existsSync(join(from, 'package.json')) || parent === from) return join(from, 'skills');
  return bundledSkillsFolder(parent);
}

/** Folders with a SKILL.md, directly in the root or one level down, where people sort them by subject. */
async function skillFolders(root: string): Promise<string[]> {
  const found: string[] = [];
  for (const first of await subfolders(root)) {
    if (existsSync(join(first, FILE))) found.push(first);
    else found.push(...(await subfolders(first)).filter((second) => existsSync(join(second, FILE))));
  }
  return found.sort();
}

async function subfolders(path: string): Promise<string[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries
      .filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && !entry.name.startsWith('.'))
      .map((entry) => join(path, entry.name));
  } catch {
    return [];
  }
}

const frontMatter = z.object({
  name: z
    .string({ error: 'is missing or not a text' })
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'must be small letters, digits and dashes, at most 64'),
  description: z.string({ error: 'is missing or not a text' }).trim().min(1, 'is empty').max(2000, 'is too long'),
});

type ReadSkill = { kind: 'read'; skill: Skill } | { kind: 'broken'; reason: string };

async function readSkill(folder: string, origin: SkillOrigin): Promise<ReadSkill> {
  const file = await readBounded(join(folder, FILE));
  if (file.kind === 'broken') return file;
  const parts = /^\ufeff?---[ \t]*\r?\n([\s\S]*?\n)?---[ \t]*(?:\r?\n|$)/.exec(file.text);
  if (!parts) {
    return broken('It does not start with front matter: a line ---, the keys name and description, and a line ---.');
  }
  let keys: unknown;
  try {
    keys = parse(parts[1] ?? '', { maxAliasCount: 10 });
  } catch (error) {
    return broken(`Its front matter is not valid YAML: ${messageOf(error).split('\n')[0]}`);
  }
  const checked = frontMatter.safeParse(keys ?? {});
  if (!checked.success) {
    const [issue] = checked.error.issues;
    return broken(
      issue?.path.length ? `\`${issue.path.join('.')}\` ${issue.message}.` : 'Its front matter has no keys.',
    );
  }
  const text = file.text.slice(parts[0].length);
  if (text.trim() === '') return broken('There is no text below the front matter.');
  return { kind: 'read', skill: { ...checked.data, origin, folder, text } };
}

async function readBounded(path: string): Promise<{ kind: 'text'; text: string } | { kind: 'broken'; reason: string }> {
  try {
    const file = await open(path);
    try {
      const info = await file.stat();
      if (!info.isFile()) return broken('It is not a file.');
      if (info.size > MAX_BYTES) return broken(`It has ${info.size} bytes; at most ${MAX_BYTES} are read.`);
      const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.readFile());
      return { kind: 'text', text };
    } finally {
      await file.close();
    }
  } catch (error) {
    return broken(error instanceof TypeError ? 'It is not UTF-8 text.' : `It cannot be read: ${messageOf(error)}`);
  }
}

const broken = (reason: string): { kind: 'broken'; reason: string } => ({ kind: 'broken', reason });
