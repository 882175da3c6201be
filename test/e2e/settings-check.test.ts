// Settings, jobs and subscriptions that cannot work are refused where they are made; what is only not set up yet is a warning.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createSvcHome, type SvcHome } from '../support/svc.ts';

const homes: SvcHome[] = [];
after(() => Promise.all(homes.map((home) => home.remove())));
function freshHome(yaml = ''): SvcHome {
  const home = createSvcHome();
  homes.push(home);
  if (yaml !== '') home.configure(yaml);
  return home;
}

const ROUTES = `platforms:
  webhook:
    enabled: true
    extra:
      host: 127.0.0.1
      routes:
        open: { deliver: messenger_99 }
        quiet: { secret: x, deliver_only: true }
        typo: { secret: x, deliver: hosta_comment, deliver_extra: { rep: o/n, pr_number: "{n}" }, toolsets: [wbe] }
        later: { secret: x, deliver: telegram:5 }
        job: { secret: x, cron_job: nobody }
`;

test('config check and the start of the gateway find the same problems and tell all of them', async () => {
  const home = freshHome(ROUTES);
  const [check, start] = [await home.svc(['config', 'check']), await home.svc(['gateway', 'run'])];
  for (const { code, stderr } of [check, start]) {
    assert.equal(code, 1);
    assert.match(stderr, /5 problems/);
    assert.match(stderr, /config\.yaml:7 {2}platforms\.webhook\.extra\.routes\.open\n.*no secret/);
    assert.match(stderr, /"messenger_99"\. Did you mean messenger_9\?/);
    assert.match(stderr, /routes\.quiet\n.*deliver_only needs `deliver` to be a real target/);
    assert.match(stderr, /no key `rep` here\. Did you mean `repo`/);
    assert.match(stderr, /no tool or toolset wbe\. Did you mean web\?/);
  }
});

test('what only has to be set up yet is a warning of config check, and so are routes while webhooks are off', async () => {
  const home = freshHome(`platforms:
  webhook:
    enabled: true
    extra:
      routes:
        a: { secret: x, deliver: telegram:5, skills: [nosuch] }
        b: { secret: x, cron_job: nobody }
        c: { secret: x, deliver_only: true, deliver: messenger_3:C1 }
`);
  const on = await home.svc(['config', 'check']);
  assert.equal(on.code, 0, on.stderr);
  assert.match(on.stderr, /telegram is not enabled/);
  assert.match(on.stderr, /no skill nosuch/);
  assert.match(on.stderr, /There is no job nobody/);
  assert.match(on.stderr, /routes\.c\n.*messenger_3 is not enabled.*svc platforms setup messenger_3/);
  assert.doesNotMatch(on.stdout, /fine/);
  home.configure('platforms: { webhook: { extra: { routes: { a: { deliver: nowhere } } } } }\n');
  const off = await home.svc(['config', 'check']);
  assert.equal(off.code, 0);
  assert.match(off.stderr, /no secret[\s\S]*no target "nowhere"/);
});

test('a job and a subscription for a platform that is not enabled are made, with the command that enables it', async () => {
  const home = freshHome();
  for (const args of [
    ['cron', 'create', '2027-01-31T18:00', 'x', '--deliver', 'sms:+4915112345678'],
    ['cron', 'create', '@daily', 'x', '--deliver', 'messenger_1:-100:17'],
    ['webhook', 'subscribe', 'a', '--deliver', 'messenger_1', '--skills', 'webhook-subscription'],
  ]) {
    const { code, stderr } = await home.svc(args);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /Warning: .*svc platforms setup (sms|messenger_1)/);
  }
});

test('what does not exist is refused when a job or subscription is made', async () => {
  const home = freshHome();
  const subscribe = ['webhook', 'subscribe', 'a'];
  for (const [args, reason] of [
    [['cron', 'create', '@daily', 'x', '--deliver', 'telegrm'], /Did you mean telegram/],
    [['cron', 'create', '@daily', 'x', '--deliver', 'hosta_comment'], /github_comment:owner\/name:12/],
    [['cron', 'create', '@daily', 'x', '--toolsets', 'nosuch'], /no tool or toolset nosuch/],
    [[...subscribe, '--deliver', 'telegrm'], /Did you mean telegram/],
    [[...subscribe, '--deliver', 'email', '--deliver-extra', 'subjekt=x'], /Did you mean `subject`/],
    [[...subscribe, '--scheme', 'hostx'], /scheme: .*`hosta`/],
    [['deliver', 'telegram:5', 'hi', '--extra', 'bogus=9'], /no key `bogus`/],
  ] as const) {
    const { code, stderr } = await home.svc(args);
    assert.notEqual(code, 0, args.join(' '));
    assert.match(stderr, reason);
    assert.doesNotMatch(stderr, /✖|→/);
  }
  const { stdout } = await home.svc(['webhook', 'list', '--json']);
  assert.deepEqual(JSON.parse(stdout), []);
  assert.equal((await home.svc([...subscribe, '--scheme', 'hosta'])).code, 0);
});

test('both spellings of a platform reach the same settings', async () => {
  const home = freshHome('platforms:\n  messenger_1:\n    token: "1:a"\n');
  assert.equal((await home.svc(['config', 'set', 'platforms.telegram.enabled', 'true'])).code, 0);
  assert.equal((await home.svc(['config', 'get', 'platforms.messenger_1.enabled'])).stdout, 'true\n');
  const file = () => readFileSync(join(home.path, 'config.yaml'), 'utf8');
  assert.equal(file(), 'platforms:\n  messenger_1:\n    token: "1:a"\n    enabled: true\n');
  const setup = await home.svc(['platforms', 'setup', 'telegram']);
  assert.equal(setup.code, 0, setup.stderr);
  assert.doesNotMatch(file(), /telegram/);
});

test('setup keeps the token that only this shell knows, under either spelling of its variable', async () => {
  const home = freshHome();
  const set = await home.svc(['platforms', 'setup', 'messenger_1'], { env: { MESSENGER_1_BOT_TOKEN: '1:abc' } });
  assert.equal(set.code, 0, set.stderr);
  assert.equal(readFileSync(join(home.path, '.env'), 'utf8'), 'TELEGRAM_BOT_TOKEN=1:abc\n');
  const { stdout } = await home.svc(['platforms', 'list', '--json']);
  const telegram = (JSON.parse(stdout) as { name: string; problem: unknown }[]).find(({ name }) => name === 'telegram');
  assert.equal(telegram?.problem, null);
  const missing = await home.svc(['platforms', 'setup', 'messenger_3']);
  assert.equal(missing.code, 2);
});

test('webhook list resolves variables from .env', async () => {
  const home = freshHome('platforms: { webhook: { extra: { public_url: "${PUB}/in", routes: { a: {} } } } }\n');
  writeFileSync(join(home.path, '.env'), 'PUB=https://hooks.example.org\n');
  assert.match((await home.svc(['webhook', 'list'])).stdout, /https:\/\/hooks\.example\.org\/in\/webhooks\/a/);
  home.configure('');
  writeFileSync(join(home.path, '.env'), 'WEBHOOK_PORT=9191\n');
  await home.svc(['webhook', 'subscribe', 'b'], { env: { WEBHOOK_PORT: '' } });
  const listed = await home.svc(['webhook', 'list'], { env: { WEBHOOK_PORT: '' } });
  assert.match(listed.stdout, /localhost:9191\/webhooks\/b/);
});

test('an empty secret is never stored, and what is delivered to the log stands there', async () => {
  const home = freshHome();
  const empty = await home.svc(['config', 'set', 'platforms.webhook.extra.secret', '-'], { input: '' });
  assert.equal(empty.code, 2);
  assert.match(empty.stderr, /Standard input is empty/);
  assert.equal((await home.svc(['config', 'set', 'platforms.webhook.extra.secret', ''])).code, 1);
  assert.equal((await home.svc(['config', 'set', 'timezone', 'Mars/X'])).code, 1);
  const sent = await home.svc(['deliver', 'log', 'hello there']);
  assert.deepEqual([sent.code, sent.stderr], [0, '']);
  assert.match(readFileSync(join(home.path, 'logs', 'gateway.log'), 'utf8'), /"text":"hello there"/);
});
