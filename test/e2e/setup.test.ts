import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '../support/temp-folder.ts';

const script = resolve(import.meta.dirname, '../../scripts/setup.cjs');

/** A tree with a lock file, the script, and an npm that only notes how it was called. */
function tree(npmStatus = 0) {
  const root = join(tempFolder(), 'a path with a space');
  mkdirSync(join(root, 'scripts'), { recursive: true });
  cpSync(script, join(root, 'scripts/setup.cjs'));
  writeFileSync(join(root, 'package-lock.json'), '{}');
  const npm = join(root, 'npm.cjs');
  const calls = join(root, 'calls');
  writeFileSync(calls, '');
  writeFileSync(
    npm,
    `const fs = require('node:fs');
     fs.appendFileSync(${JSON.stringify(calls)}, process.argv.slice(2).join(' ') + '\\n');
     fs.mkdirSync('node_modules', { recursive: true });
     process.exit(${npmStatus});`,
  );
  return {
    root,
    calls: () => readFileSync(calls, 'utf8').split('\n').filter(Boolean),
    setup: (args: string[] = [], env: NodeJS.ProcessEnv = {}) =>
      spawnSync(process.execPath, [join(root, 'scripts/setup.cjs'), ...args], {
        cwd: '/',
        encoding: 'utf8',
        env: { PATH: '/nowhere', npm_execpath: npm, ...env },
      }),
  };
}

test('packages are installed once, and again when the lock changes', () => {
  const { root, calls, setup } = tree();
  assert.equal(setup().status, 0);
  assert.equal(setup().status, 0);
  assert.equal(calls().length, 1);
  assert.match(calls()[0] ?? '', /^ci --loglevel=error/);
  writeFileSync(join(root, 'package-lock.json'), '{"changed":true}');
  assert.equal(setup().status, 0);
  assert.equal(calls().length, 2);
});

test('a failed install is told with what to do and tried again the next time', () => {
  const { calls, setup } = tree(1);
  const result = setup();
  assert.equal(result.status, 1);
  assert.match(result.stderr, /npm ci/);
  setup();
  assert.equal(calls().length, 2);
});

test('programs that the tests use and that cannot be installed are named with the command; in CI that is a failure', () => {
  const { setup } = tree();
  const here = setup(['--tests']);
  assert.equal(here.status, 0);
  assert.match(here.stderr, /apt-get install .*chromium.*bubblewrap/);
  const inCi = setup(['--tests'], { CI: 'true' });
  assert.equal(inCi.status, 1);
  assert.match(inCi.stderr, /apt-get install/);
});
