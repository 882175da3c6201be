import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { availableSkillsSection, bundledSkillsFolder, createSkills } from './skills.ts';

let root: string;
const user = () => join(root, 'user');
const bundled = () => join(root, 'bundled');

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-skills-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function save(folder: string, text: string | Buffer): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'SKILL.md'), text);
}
const skill = (name: string, description = 'Does it.', body = 'Do this.') =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}\n`;
const skills = () =>
  createSkills([
    { path: user(), origin: 'user' },
    { path: bundled(), origin: 'bundled' },
  ]);

test('skills are found in a folder and one level below, with links followed', async () => {
  save(join(user(), 'one'), skill('one'));
  save(join(user(), 'subject', 'two'), skill('two'));
  save(join(root, 'elsewhere'), skill('three'));
  symlinkSync(join(root, 'elsewhere'), join(user(), 'three'));
  mkdirSync(join(user(), 'empty'));
  const found = await skills().list();
  assert.deepEqual(
    found.skills.map(({ name, origin }) => [name, origin]),
    [
      ['one', 'user'],
      ['three', 'user'],
      ['two', 'user'],
    ],
  );
  assert.deepEqual(found.problems, []);
});

test('a skill of the user takes the place of a bundled one', async () => {
  save(join(user(), 'report'), skill('report', 'Mine.'));
  save(join(bundled(), 'report'), skill('report', 'Theirs.'));
  const found = await skills().list();
  assert.deepEqual(
    found.skills.map(({ description }) => description),
    ['Mine.'],
  );
  assert.deepEqual(found.problems, []);
});

test('what is saved is there at the next call', async () => {
  const all = skills();
  assert.equal((await all.find('later')).kind, 'missing');
  save(join(user(), 'later'), skill('later'));
  assert.equal((await all.find('later')).kind, 'found');
});

const BROKEN: readonly (readonly [name: string, text: string | Buffer, reason: RegExp])[] = [
  ['none', 'Just text.', /does not start with front matter/],
  ['unclosed', '---\nname: unclosed\ndescription: x\n\nText.', /does not start with front matter/],
  ['yaml', '---\nname: [unclosed\n---\nText.', /not valid YAML/],
  ['list', '---\n- a\n---\nText.', /front matter has no keys/],
  ['nothing', '---\n---\nText.', /`name` is missing/],
  ['no-description', '---\nname: no-description\n---\nText.', /`description` is missing/],
  ['bad-name', '---\nname: Bad Name\ndescription: x\n---\nText.', /`name` must be small letters/],
  ['number', '---\nname: number\ndescription: 5\n---\nText.', /`description` is missing or not a text/],
  ['no-text', '---\nname: no-text\ndescription: x\n---\n\n', /no text below/],
  ['bytes', Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff, 0xfe]), /not UTF-8/],
  ['huge', `---\nname: huge\ndescription: x\n---\n${'x'.repeat(300_000)}`, /at most/],
];

test('a broken skill is told with its reason and does not stop the others', async () => {
  save(join(user(), 'good'), skill('good'));
  for (const [name, text] of BROKEN) save(join(user(), name), text);
  const found = await skills().list();
  assert.deepEqual(
    found.skills.map(({ name }) => name),
    ['good'],
  );
  for (const [name, , reason] of BROKEN) {
    const problem = found.problems.find(({ path }) => path === join(user(), name, 'SKILL.md'));
    assert.match(problem?.reason ?? '', reason, name);
    assert.equal((await skills().find(name)).kind, 'broken', name);
  }
});

test('two skills of one name: the second is told', async () => {
  save(join(user(), 'a'), skill('same'));
  save(join(user(), 'b'), skill('same'));
  const found = await skills().list();
  assert.equal(found.skills.length, 1);
  assert.match(found.problems[0]?.reason ?? '', /Another skill is named same/);
});

test('a missing skill names those there are', async () => {
  save(join(user(), 'one'), skill('one'));
  assert.deepEqual(await skills().find('two'), { kind: 'missing', available: ['one'] });
});

test('Windows line ends and a byte order mark do no harm', async () => {
  save(join(user(), 'crlf'), `\ufeff${skill('crlf').replaceAll('\n', '\r\n')}`);
  const found = await skills().find('crlf');
  assert.equal(found.kind === 'found' && found.skill.text.trim(), 'Do this.');
});

test('the bundled skills are whole, and the one for webhook subscriptions is among them', async () => {
  const found = await createSkills([{ path: bundledSkillsFolder(), origin: 'bundled' }]).list();
  assert.deepEqual(found.problems, []);
  assert.match(availableSkillsSection(found.skills) ?? '', /- webhook-subscriptions: /);
  assert.match(found.skills.find(({ name }) => name === 'webhook-subscriptions')?.text ?? '', /svc webhook subscribe/);
});
