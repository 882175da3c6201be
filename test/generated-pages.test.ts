import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { tempFolder } from './support/temp-folder.ts';

const script = resolve(import.meta.dirname, '../scripts/generate-docs.ts');
const generate = (...args: string[]) => spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });

test('the generated pages are what the source says', () => {
  const { status, stderr } = generate('--check');
  assert.equal(status, 0, stderr);
});

test('the check fails and names the page that lags', () => {
  const folder = tempFolder();
  mkdirSync(join(folder, 'docs'));
  assert.equal(generate('--into', folder).status, 0);
  appendFileSync(join(folder, 'docs/configuration.md'), 'by hand');
  const lagging = generate('--into', folder, '--check');
  assert.equal(lagging.status, 1);
  assert.match(lagging.stderr, /docs\/configuration\.md .*npm run docs/);
});
