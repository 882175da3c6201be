import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { peekConfig } from './peek.ts';

test('the plain value is read when a key that is looked for may be there', async () => {
  const path = join(tempFolder(), 'config.yaml');
  writeFileSync(path, 'platforms: { webhook: { extra: { port: 9000 } } }\n');
  assert.deepEqual(await peekConfig(path, ['port']), { platforms: { webhook: { extra: { port: 9000 } } } });
  assert.equal(await peekConfig(path, ['routes']), undefined);
});

test('a missing and a broken file read as nothing', async () => {
  const path = join(tempFolder(), 'config.yaml');
  assert.equal(await peekConfig(path, ['port']), undefined);
  writeFileSync(path, 'port: "x\n');
  assert.equal(await peekConfig(path, ['port']), undefined);
});
