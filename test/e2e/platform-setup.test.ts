// `svc platforms setup` as a person meets it: questions on a terminal, secrets in .env, the rest in config.yaml.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openTerminal } from '../support/pseudo-terminal.ts';
import { tempFolder } from '../support/temp-folder.ts';

const TOKEN = '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw';

test('setup asks for what a platform needs, hides the token and saves both files', { timeout: 60_000 }, async () => {
  const home = tempFolder();
  const terminal = openTerminal(['platforms', 'setup', 'telegram'], { SVC_HOME: home, HOME: home });
  try {
    await terminal.shows('token of the bot');
    terminal.type(`${TOKEN}\r`);
    await terminal.shows('Home channel');
    terminal.type('-1001234\r');
    await terminal.shows('Telegram is enabled');
    assert.equal(await terminal.exited, 0);
  } finally {
    terminal.kill();
  }
  assert.ok(!terminal.raw().includes(TOKEN));
  assert.match(readFileSync(join(home, '.env'), 'utf8'), new RegExp(`^TELEGRAM_BOT_TOKEN=${TOKEN}$`, 'm'));
  const settings = readFileSync(join(home, 'config.yaml'), 'utf8');
  assert.match(settings, /enabled: true/);
  assert.match(settings, /chat_id: "?-1001234"?/);
  assert.ok(!settings.includes(TOKEN));
});

test('leaving in the middle changes nothing', { timeout: 60_000 }, async () => {
  const home = tempFolder();
  const terminal = openTerminal(['platforms', 'setup', 'slack'], { SVC_HOME: home, HOME: home });
  try {
    await terminal.shows('bot token');
    terminal.type('\u0003');
    await terminal.exited;
  } finally {
    terminal.kill();
  }
  assert.throws(() => readFileSync(join(home, 'config.yaml')));
  assert.throws(() => readFileSync(join(home, '.env')));
});
