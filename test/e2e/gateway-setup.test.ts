// The set-up of webhooks as a conversation on a terminal.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openTerminal } from '../support/pseudo-terminal.ts';
import { tempFolder } from '../support/temp-folder.ts';

test('the wizard asks for port, secret and public address, makes a secret when left empty, and keeps comments', async () => {
  const home = tempFolder();
  const config = join(home, 'config.yaml');
  writeFileSync(config, '# mine\ntimezone: UTC # home\n', { mode: 0o600 });
  const terminal = openTerminal(['gateway', 'setup'], { SVC_HOME: home, HOME: home });
  try {
    await terminal.shows('Receive webhooks?');
    terminal.type('\r');
    await terminal.shows('Port');
    terminal.type(`${'\u007f'.repeat(4)}9001\r`);
    await terminal.shows('Secret for all routes');
    terminal.type('\r');
    await terminal.shows('Public address');
    terminal.type('https://hooks.example.org\r');
    assert.equal(await terminal.exited, 0);
  } finally {
    terminal.kill();
  }
  const text = readFileSync(config, 'utf8');
  assert.match(text, /^# mine\ntimezone: UTC # home\n/);
  assert.match(text, /enabled: true/);
  assert.match(text, /port: 9001/);
  assert.match(text, /secret: \S{40,}/);
  assert.match(text, /public_url: https:\/\/hooks\.example\.org/);
});

test('leaving the wizard changes nothing', async () => {
  const home = tempFolder();
  const terminal = openTerminal(['gateway', 'setup'], { SVC_HOME: home, HOME: home });
  try {
    await terminal.shows('Receive webhooks?');
    terminal.type('\r');
    await terminal.shows('Port');
    terminal.type('\u0003');
    await terminal.shows('Nothing was changed');
    await terminal.exited;
  } finally {
    terminal.kill();
  }
  assert.equal(existsSync(join(home, 'config.yaml')), false);
});
