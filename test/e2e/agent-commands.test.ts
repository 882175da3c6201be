// `svc tools`, `svc skills`, `svc mcp` and `svc sessions` as a user meets them.

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { createSandbox } from '../../src/system/sandbox.ts';
import { createSvcHome } from '../support/svc.ts';

const home = createSvcHome();
const server = resolve(import.meta.dirname, '../support/mcp-server.ts');
const noSandbox = await createSandbox(process.env.PATH).problem();
if (noSandbox !== undefined && process.env.SVC_E2E === 'required') throw new Error(noSandbox);

before(() => {
  const math = { command: process.execPath, args: [server, '--key=hunter2'] };
  home.configure(`
toolsets:
  mine: [read_file, nonsense]
mcp_servers:
  math: ${JSON.stringify(math)}
  gone: { command: /nonexistent/server }
  off: { url: 'https://user:hunter2@mcp.example/x?key=hunter2', enabled: false }
platforms:
  webhook:
    enabled: true
    extra:
      secret: a-long-secret-for-tests
      routes:
        plain: {}
        sharp: { toolsets: [svc-webhook, send_message, core] }
`);
  const broken = join(home.path, 'skills', 'broken');
  mkdirSync(broken, { recursive: true });
  writeFileSync(join(broken, 'SKILL.md'), 'no front matter');
});
after(() => home.remove());

interface Row {
  tool: string;
  given: boolean;
  reason?: string;
}

async function toolsOf(...args: string[]): Promise<Map<string, Row>> {
  const { code, stdout, stderr } = await home.svc(['tools', 'list', '--json', ...args]);
  assert.equal(code, 0, stderr);
  return new Map((JSON.parse(stdout) as Row[]).map((row) => [row.tool, row]));
}

test('a route gets the webhook toolset, or what it was granted, and the reasons for the rest are told', async () => {
  const [plain, sharp] = await Promise.all([toolsOf('--route', 'plain'), toolsOf('--route', 'sharp')]);
  assert.deepEqual([...plain.keys()].sort(), ['skill', 'terminal']);
  assert.equal(sharp.get('send_message')?.given, true);
  assert.match(sharp.get('cronjob')?.reason ?? '', /Never given/);
  assert.match(sharp.get('math_add')?.reason ?? '', /`math_add` itself is listed/);
});

test('without bubblewrap the terminal of a route is hidden and says why', async () => {
  const env = { PATH: dirname(process.execPath) };
  const { stdout } = await home.svc(['tools', 'list', '--route', 'plain'], { env });
  assert.match(stdout, /Hidden:\n {2}terminal: bubblewrap \(bwrap\) is not installed/);
});

test('your own chat has the tools of your MCP servers, and a server that does not work is named', async () => {
  const { code, stdout, stderr } = await home.svc(['tools', 'list']);
  assert.equal(code, 0);
  assert.match(stdout, /^math_add +core, mcp-math$/m);
  assert.match(stderr, /MCP server gone: /);
});

test('a name that means nothing, a route and a job that do not exist are told', async () => {
  const [mine, route, job, both] = await Promise.all([
    toolsOf('--toolset', 'mine'),
    home.svc(['tools', 'list', '--route', 'none']),
    home.svc(['tools', 'list', '--job', 'none']),
    home.svc(['tools', 'list', '--job', 'a', '--route', 'b']),
  ]);
  assert.equal(mine.get('read_file')?.given, true);
  assert.match(mine.get('nonsense')?.reason ?? '', /no tool or toolset/);
  assert.deepEqual([route.code, job.code, both.code], [1, 1, 2]);
});

test('a job gets svc-cron, which cannot make further jobs', async () => {
  const made = await home.svc(['cron', 'create', 'every 1h', 'Look.', '--name', 'looker']);
  assert.equal(made.code, 0, made.stderr);
  const tools = await toolsOf('--job', 'looker');
  assert.equal(tools.get('web_fetch')?.given, true);
  assert.equal(tools.has('cronjob'), false);
});

test('skills: the bundled one is listed and shown, a broken one is found by check', async () => {
  const [list, show, check, missing] = await Promise.all([
    home.svc(['skills', 'list', '--json']),
    home.svc(['skills', 'show', 'webhook-subscriptions']),
    home.svc(['skills', 'check']),
    home.svc(['skills', 'show', 'webhook-subscription']),
  ]);
  const names = (JSON.parse(list.stdout) as { name: string }[]).map(({ name }) => name);
  assert.ok(names.includes('webhook-subscriptions'));
  assert.match(show.stdout, /^# Webhook subscriptions/);
  assert.equal(check.code, 1);
  assert.match(check.stdout, /broken {2}.*broken\/SKILL\.md: It does not start with front matter/);
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /Did you mean webhook-subscriptions\?/);
});

test('mcp: list starts nothing and shows no key, check starts each server', async () => {
  const [list, check] = await Promise.all([home.svc(['mcp', 'list']), home.svc(['mcp', 'check', '--json'])]);
  assert.equal(list.code, 0);
  assert.ok(!list.stdout.includes('hunter2'), list.stdout);
  assert.match(list.stdout, /^off +no +core +https:\/\/mcp\.example\/x$/m);
  assert.equal(check.code, 1);
  const checked = JSON.parse(check.stdout) as { name: string; state: string; tools?: string[] }[];
  assert.ok(checked.find(({ name }) => name === 'math')?.tools?.includes('math_add'));
  assert.equal(checked.find(({ name }) => name === 'gone')?.state, 'failed');
});

test('there are no sessions before the first chat, and an unknown one is told', async () => {
  const [list, show] = await Promise.all([home.svc(['sessions', 'list']), home.svc(['sessions', 'show', 'chat_x'])]);
  assert.match(list.stdout, /svc chat/);
  assert.equal(show.code, 1);
});
