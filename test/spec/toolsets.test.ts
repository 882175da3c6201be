// Contract section "Availability": which toolsets hold which tools.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type App, openApp } from '../../src/app.ts';
import { tempFolder } from '../support/temp-folder.ts';

let app: App;
let toolsets: Map<string, readonly string[]>;

before(async () => {
  app = openApp({ env: { PATH: process.env.PATH }, home: tempFolder() });
  const { toolbox } = await app.agent();
  toolsets = new Map((await toolbox.toolsets()).map(({ name, tools }) => [name, tools]));
});
after(() => app.close());

test('the dialog tool is in the toolsets browser, svc-acp, svc-api-server and the core toolsets', () => {
  for (const name of ['browser', 'svc-acp', 'svc-api-server', 'core', 'svc-chat']) {
    assert.ok(toolsets.get(name)?.includes('browser_dialog'), name);
  }
});

test('the webhook toolset includes the terminal, and nothing that sends, schedules or reaches the network', () => {
  assert.deepEqual(toolsets.get('svc-webhook'), ['skill', 'terminal']);
});

test('a scheduled job cannot make jobs or send messages besides its answer', () => {
  const tools = toolsets.get('svc-cron') ?? [];
  assert.ok(tools.includes('terminal'));
  for (const name of ['cronjob', 'send_message']) assert.ok(!tools.includes(name), name);
});

test('an untrusted run gets neither the tool for jobs nor messages, even with the core toolset', async () => {
  const { toolbox } = await app.agent();
  const { granted } = await toolbox.resolve(['core'], { trust: 'untrusted', taskId: 'run_1' });
  const names = granted.map((tool) => tool.name);
  for (const name of ['cronjob', 'send_message']) assert.ok(!names.includes(name), name);
});

test('the chat knows the slash commands of the contract', async () => {
  const agent = await app.agent();
  const names = agent.slashCommands(() => assert.fail('not needed')).map((command) => command.name);
  for (const name of ['help', 'new', 'model', 'tools', 'skills', 'cron', 'browser', 'stop', 'quit']) {
    assert.ok(names.includes(name), name);
  }
});
