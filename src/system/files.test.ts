import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { SvcError } from '../core/errors.ts';
import { checkHome, ensurePrivateDirectory, followFile, readIfExists, writeFileAtomic } from './files.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-files-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('an atomic write leaves the new text, mode 0600 and nothing else', () => {
  const place = join(folder, 'atomic');
  mkdirSync(place);
  writeFileAtomic(join(place, 'a.json'), 'one');
  writeFileAtomic(join(place, 'a.json'), 'two');
  assert.equal(readFileSync(join(place, 'a.json'), 'utf8'), 'two');
  assert.equal(statSync(join(place, 'a.json')).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(place), ['a.json']);
});

test('a failed atomic write leaves neither a new file nor a temporary one', () => {
  const place = join(folder, 'failed');
  mkdirSync(join(place, 'target', 'full'), { recursive: true });
  assert.throws(() => writeFileAtomic(join(place, 'target'), 'text'));
  assert.deepEqual(readdirSync(place), ['target']);
});

test('a folder that cannot be made is an error, also where the file system says that something is missing', async () => {
  await ensurePrivateDirectory(join(folder, 'deep', 'er', 'still'));
  await Promise.all([1, 2, 3].map(() => ensurePrivateDirectory(join(folder, 'at', 'once'))));
  writeFileSync(join(folder, 'file'), '');
  await assert.rejects(ensurePrivateDirectory(join(folder, 'file')), /EEXIST/);
  await assert.rejects(ensurePrivateDirectory(join(folder, 'file', 'x')), /ENOTDIR/);
  if (process.platform === 'linux') await assert.rejects(ensurePrivateDirectory('/proc/svc-home/x'), /ENOENT/);
});

test('a file in the place of the home is told, a home that is not there yet is not', () => {
  checkHome(folder);
  checkHome(join(folder, 'later'));
  writeFileSync(join(folder, 'occupied'), '');
  for (const path of [join(folder, 'occupied'), join(folder, 'occupied', 'x')])
    assert.throws(
      () => checkHome(path),
      (error) => error instanceof SvcError && error.code === 'home_unusable',
    );
});

test('a private folder is 0700, also when it was open before', async () => {
  const place = join(folder, 'home');
  mkdirSync(place, { mode: 0o755 });
  await ensurePrivateDirectory(place);
  await ensurePrivateDirectory(join(place, 'deep', 'er'));
  assert.equal(statSync(place).mode & 0o777, 0o700);
  assert.equal(statSync(join(place, 'deep', 'er')).mode & 0o777, 0o700);
});

test('a followed file is parsed once per change, also when size and time stay the same', () => {
  const path = join(folder, 'followed.json');
  let parsed = 0;
  const read = followFile(path, (text) => {
    parsed += 1;
    return text;
  });
  assert.equal(read(), undefined);
  writeFileAtomic(path, 'aa');
  assert.equal(read(), 'aa');
  assert.equal(read(), 'aa');
  const { atime, mtime } = statSync(path);
  writeFileSync(path, 'bb');
  utimesSync(path, atime, mtime);
  assert.equal(read(), 'bb');
  assert.equal(parsed, 3);
  rmSync(path);
  assert.equal(read(), undefined);
});

test('a followed file that does not parse throws until it is mended', () => {
  const path = join(folder, 'broken.json');
  writeFileSync(path, '{');
  const read = followFile(path, (text) => JSON.parse(text ?? 'null') as unknown);
  assert.throws(read, SyntaxError);
  assert.throws(read, SyntaxError);
  writeFileSync(path, '{"a":1}');
  assert.deepEqual(read(), { a: 1 });
});

test('a missing file reads as undefined, an unreadable one throws', async () => {
  assert.equal(await readIfExists(join(folder, 'none')), undefined);
  await assert.rejects(readIfExists(folder));
});
