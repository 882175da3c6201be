// The four file tools share one rule of what they may touch, so they are tested together, on a real folder.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import type { Tool, ToolContext, ToolResult } from '../agent/tool.ts';
import { createEditFile } from './edit-file.ts';
import { createReadFile } from './read-file.ts';
import { createSearchFiles } from './search-files.ts';
import { createWorkFolders } from './work-folders.ts';
import { createWriteFile } from './write-file.ts';

let root: string;
let work: string;
let shared: string;
let tools: Record<'read' | 'write' | 'edit' | 'search', Tool>;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-files-'));
  shared = join(root, 'shared');
  mkdirSync(shared);
  work = join(root, 'work', 'run_1');
  mkdirSync(work, { recursive: true });
  const access = { folders: createWorkFolders(join(root, 'work')), roots: [shared] };
  tools = {
    read: createReadFile(access),
    write: createWriteFile(access),
    edit: createEditFile(access),
    search: createSearchFiles(access),
  };
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const context: ToolContext = {
  taskId: 'run_1',
  trust: 'untrusted',
  grantedTools: [],
  signal: new AbortController().signal,
};

const call = async (name: keyof typeof tools, input: Record<string, unknown>): Promise<ToolResult> =>
  tools[name].run(tools[name].input.parse(input), context);

test('a file is written with its folders, read with line numbers and edited', async () => {
  assert.equal((await call('write', { path: 'a/b.txt', content: 'one\ntwo\n' })).output, 'Created a/b.txt (8 bytes).');
  assert.equal((await call('edit', { path: 'a/b.txt', old_text: 'two', new_text: 'zwei' })).failed, undefined);
  assert.equal((await call('read', { path: 'a/b.txt' })).output, '1\tone\n2\tzwei');
  assert.equal(readFileSync(join(work, 'a/b.txt'), 'utf8'), 'one\nzwei\n');
});

test('a configured root can be used with an absolute path', async () => {
  await call('write', { path: join(shared, 'x'), content: 'y' });
  assert.equal(readFileSync(join(shared, 'x'), 'utf8'), 'y');
});

test('paths outside of the roots are refused by every tool', async () => {
  writeFileSync(join(root, 'secret'), 'hidden');
  mkdirSync(join(root, 'work', 'run_10'));
  for (const path of [
    '../../secret',
    join(root, 'secret'),
    '/etc/passwd',
    '../run_10/x',
    `${shared}/../secret`,
    '~/x',
  ]) {
    const outside = path !== '~/x';
    const write = await call('write', { path, content: 'bad' });
    assert.equal(write.failed === true, outside, path);
    assert.equal((await call('read', { path })).failed === true, outside, path);
    if (!outside) continue;
    assert.equal((await call('edit', { path, old_text: 'hidden', new_text: 'bad' })).failed, true, path);
    assert.equal((await call('search', { path, pattern: '.' })).failed, true, path);
    assert.match(write.output, /outside of what the file tools may use/);
  }
  assert.equal(readFileSync(join(root, 'secret'), 'utf8'), 'hidden');
});

test('links are resolved before the rule is applied', async () => {
  writeFileSync(join(root, 'secret'), 'hidden');
  symlinkSync(join(root, 'secret'), join(work, 'to-file'));
  symlinkSync(root, join(work, 'to-folder'));
  symlinkSync(join(root, 'not-yet'), join(work, 'dangling'));
  symlinkSync('loop', join(work, 'loop'));
  for (const path of ['to-file', 'to-folder/secret', 'to-folder/new', 'dangling', 'loop']) {
    assert.equal((await call('read', { path })).failed, true, path);
    assert.equal((await call('write', { path, content: 'bad' })).failed, true, path);
  }
  assert.equal(readFileSync(join(root, 'secret'), 'utf8'), 'hidden');
  assert.equal(existsSync(join(root, 'not-yet')), false);
  assert.equal(existsSync(join(root, 'new')), false);
});

test('a search does not follow links out of the folder', async () => {
  writeFileSync(join(root, 'secret'), 'hidden');
  symlinkSync(root, join(work, 'out'));
  symlinkSync(join(root, 'secret'), join(work, 'file-link'));
  writeFileSync(join(work, 'mine.txt'), 'hidden too\n');
  assert.equal((await call('search', { pattern: 'hidden' })).output, 'mine.txt:1:hidden too');
  assert.equal((await call('search', { glob: '*.txt' })).output, 'mine.txt');
});

test('an edit must be exact and unique', async () => {
  await call('write', { path: 'f', content: 'a b a' });
  assert.match((await call('edit', { path: 'f', old_text: 'x', new_text: '' })).output, /does not stand in/);
  assert.match((await call('edit', { path: 'f', old_text: 'a', new_text: '$&' })).output, /stands 2 times/);
  const result = await call('edit', { path: 'f', old_text: 'a', new_text: '$&', replace_all: true });
  assert.equal(result.output, 'Replaced 2 places in f.');
  assert.equal(readFileSync(join(work, 'f'), 'utf8'), '$& b $&');
});

test('folders, pipes, binary and missing files are told, and nothing waits on them', async () => {
  execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', join(work, 'pipe')]);
  writeFileSync(join(work, 'binary'), Buffer.from([1, 0, 2]));
  assert.match((await call('read', { path: '.' })).output, /it is a folder/);
  assert.match((await call('read', { path: 'pipe' })).output, /it is not a file/);
  assert.match((await call('read', { path: 'binary' })).output, /it is a binary file/);
  assert.match((await call('read', { path: 'missing' })).output, /ENOENT/);
  assert.equal((await call('write', { path: 'pipe', content: 'x' })).failed, true);
  assert.equal((await call('write', { path: '.', content: 'x' })).failed, true);
});

test('a long file is read in parts', async () => {
  const lines = Array.from({ length: 3000 }, (_, index) => `line ${index + 1}`);
  await call('write', { path: 'long', content: lines.join('\n') });
  const first = await call('read', { path: 'long' });
  assert.match(first.output, /\[1000 more lines; go on with offset 2001\]$/);
  const second = await call('read', { path: 'long', offset: 2999 });
  assert.equal(second.output, '2999\tline 2999\n3000\tline 3000');
  assert.equal((await call('read', { path: 'long', offset: 4000 })).failed, true);
});

test('one line of 10 MB does not reach the model whole', async () => {
  writeFileSync(join(work, 'wide'), 'x'.repeat(10_000_000));
  assert.ok((await call('read', { path: 'wide' })).output.length < 3000);
  assert.ok((await call('search', { pattern: 'x' })).output.length < 1000);
});

test('a pattern that grep refuses is a failure with its reason', async () => {
  await call('write', { path: 'f', content: 'x' });
  const result = await call('search', { pattern: '(' });
  assert.equal(result.failed, true);
  assert.match(result.output, /\(/);
  assert.equal((await call('search', { pattern: 'nowhere' })).output, 'Nothing found.');
});

test('a task id that is no name is refused', async () => {
  const tool = tools.read;
  await assert.rejects(
    tool.run(tool.input.parse({ path: 'x' }), { ...context, taskId: '../run_1' }),
    /is not a task id/,
  );
});
