import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startNode } from '../../test/support/child.ts';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { SvcError } from '../core/errors.ts';
import { isInstanceLocked, takeInstanceLock } from './instance-lock.ts';

test('the lock can be held once and taken again after its release', () => {
  const path = join(tempFolder(), 'lock');
  const lock = takeInstanceLock(path);
  assert.ok(lock);
  assert.equal(isInstanceLocked(path), true);
  assert.equal(takeInstanceLock(path, 0), undefined);
  lock.release();
  assert.equal(isInstanceLocked(path), false);
  takeInstanceLock(path)?.release();
  assert.equal(statSync(path).mode & 0o077, 0);
});

test('another process holds it until it is killed, and then nobody does', async () => {
  const path = join(tempFolder(), 'lock');
  const module = JSON.stringify(new URL('./instance-lock.ts', import.meta.url).href);
  const script = `const { takeInstanceLock } = await import(${module}); globalThis.held = takeInstanceLock(${JSON.stringify(path)}); console.log('held'); setInterval(() => {}, 1000);`;
  const child = startNode(['--input-type=module', '-e', script]);
  await child.says('held');
  assert.equal(takeInstanceLock(path, 0), undefined);
  await child.kill();
  assert.ok(takeInstanceLock(path));
});

test('a place that cannot be written is told as an unusable home', () => {
  assert.throws(
    () => takeInstanceLock(join(tempFolder(), 'no', 'such', 'folder')),
    (error) => error instanceof SvcError && error.code === 'home_unusable',
  );
});
