import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createSkills } from '../agent/skills.ts';
import type { ToolContext } from '../agent/tool.ts';
import { createSkillTool } from './skill.ts';

let root: string;
before(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-skill-tool-'));
  const folder = join(root, 'skills', 'report');
  mkdirSync(join(folder, 'references'), { recursive: true });
  writeFileSync(join(folder, 'SKILL.md'), '---\nname: report\ndescription: Reports.\n---\nWrite a report.\n');
  writeFileSync(join(folder, 'references', 'style.md'), 'Be short.');
  writeFileSync(join(root, 'secret'), 'hidden');
  symlinkSync(join(root, 'secret'), join(folder, 'link.md'));
});
after(() => rmSync(root, { recursive: true, force: true }));

const context: ToolContext = {
  taskId: 'run_7',
  trust: 'person',
  grantedTools: [],
  signal: new AbortController().signal,
};
const load = (input: { name: string; file?: string }) => {
  const tool = createSkillTool(createSkills([{ path: join(root, 'skills'), origin: 'user' }]));
  return tool.run(tool.input.parse(input), context);
};

test('a skill is its text and the list of its files', async () => {
  assert.equal((await load({ name: 'report' })).output, 'Write a report.\n\nFiles of this skill: references/style.md');
  assert.equal((await load({ name: 'report', file: 'references/style.md' })).output, 'Be short.');
});

test('an unknown skill and a file outside of the skill are refused', async () => {
  assert.match((await load({ name: 'other' })).output, /There are: report/);
  for (const file of ['../../secret', 'link.md', '/etc/passwd', 'missing.md']) {
    const result = await load({ name: 'report', file });
    assert.equal(result.failed, true, file);
    assert.ok(!result.output.includes('hidden'), file);
  }
});
