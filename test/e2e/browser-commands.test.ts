// What a person types: `svc browser ...` in the shell and /browser in the chat, with a real browser behind it.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createBrowserCommand } from '../../src/chat/slash-commands/browser.ts';
import { scenarioPages } from '../support/browser-scenarios.ts';
import { chromiumOrSkip, openTheatre, Stage, type Theatre } from '../support/browser-stage.ts';
import { createSvcHome, type SvcHome } from '../support/svc.ts';

const executable = await chromiumOrSkip();
const skip = executable === undefined ? 'no Chromium on this machine' : false;

describe('browser commands', { skip }, () => {
  let theatre: Theatre;
  let home: SvcHome;
  before(async () => {
    theatre = await openTheatre(scenarioPages);
    home = createSvcHome();
  });
  after(async () => {
    await home.remove();
    await theatre.close();
  });

  test('svc browser connect checks the browser, keeps its address, and disconnect forgets it', async () => {
    const { port } = new URL(theatre.address);
    const refused = await home.svc(['browser', 'connect', '1']);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /No browser answers there/);
    const connected = await home.svc(['browser', 'connect', port]);
    assert.match(connected.stdout, /Connected to .*Chrom/);
    assert.match(await readFile(join(home.path, 'config.yaml'), 'utf8'), new RegExp(`cdp_url: "?${port}`));
    const status = JSON.parse((await home.svc(['browser', 'status', '--json'])).stdout);
    assert.deepEqual([status.backend, status.answers, status.dialogs], ['running', true, true]);
    await home.svc(['browser', 'disconnect']);
    assert.equal(JSON.parse((await home.svc(['browser', 'status', '--json'])).stdout).backend, 'own');
  });

  test('svc browser doctor opens a page, reads it and answers a dialog', async () => {
    const { code, stdout } = await home.svc(['browser', 'doctor', '--json']);
    assert.equal(code, 0);
    const checks = JSON.parse(stdout) as { name: string; ok: boolean }[];
    assert.deepEqual(
      checks.map(({ name, ok }) => [name, ok]),
      [
        ['browser', true],
        ['open a page', true],
        ['read its text', true],
        ['answer a dialog', true],
      ],
    );
    home.configure('browser:\n  executable: /bin/false\n');
    const broken = await home.svc(['browser', 'doctor']);
    assert.equal(broken.code, 1);
    assert.match(broken.stdout, /browser\s+failed/);
  });

  test('/browser connect attaches the chat, status tells it, disconnect lets go and leaves the browser running', async () => {
    const stage = new Stage(theatre, { config: { executable: executable ?? '' } });
    const command = createBrowserCommand(stage.browsers);
    const lines: string[] = [];
    const context = {
      sessionId: 'task',
      origin: { target: 'chat', chatId: 'task' },
      signal: stage.context.signal,
      print: (text: string) => lines.push(text),
    };
    await command.run(['connect', new URL(theatre.address).port], context);
    await command.run(['status'], context);
    await command.run(['disconnect'], context);
    await command.run(['status'], context);
    await assert.rejects(command.run(['connect', '1'], context), /browser is gone/);
    await assert.rejects(command.run(['dance'], context), /no action dance/);
    assert.match(lines[0] ?? '', /Connected/);
    assert.match(lines[1] ?? '', /connected, 1 tabs, 0 open dialogs/);
    assert.match(lines[3] ?? '', /No browser is open yet/);
    const again = new Stage(theatre);
    assert.equal((await again.open('a', '/other')).title, 'other');
    await again.close();
  });
});
