// Contract: "Command line", the rows about webhooks and the set-up.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createSvcHome, type RunningGateway, type SvcHome } from '../support/svc.ts';
import { until } from '../support/until.ts';

let home: SvcHome;
let gateway: RunningGateway;
before(async () => {
  home = createSvcHome();
  home.configure(
    '# mine\nplatforms:\n  webhook:\n    enabled: true # on\n    extra:\n      host: 127.0.0.1\n      routes:\n        fixed: { secret: x }\n',
  );
  gateway = await home.startGateway();
});
after(() => home.remove());

async function svc(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await home.svc(args);
  assert.equal(code, 0, stderr);
  return stdout;
}
const json = async (...args: string[]) => JSON.parse(await svc(...args, '--json'));
const record = (name: string) => JSON.parse(readFileSync(join(home.path, 'webhook_subscriptions.json'), 'utf8'))[name];

test('subscribe takes every option of the contract and prints the URL and a generated secret', async () => {
  for (const name of ['one', 'two']) {
    const folder = join(home.path, 'skills', name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'SKILL.md'), `---\nname: ${name}\ndescription: A test.\n---\nWords.\n`);
  }
  const printed = await svc(
    ...['webhook', 'subscribe', 'issues', '--events', 'issues, push', '--prompt', 'Look: {issue.title}'],
    ...['--skills', 'one,two', '--deliver', 'local', '--deliver-chat-id', '42', '--description', 'My note'],
  );
  const { secret, created_at, updated_at, ...rest } = record('issues');
  assert.deepEqual(rest, {
    description: 'My note',
    events: ['issues', 'push'],
    prompt: 'Look: {issue.title}',
    skills: ['one', 'two'],
    deliver: 'local',
    deliver_extra: { chat_id: '42' },
  });
  assert.match(printed, new RegExp(`${gateway.url}/webhooks/issues`));
  assert.ok(printed.includes(secret));
  assert.equal(Buffer.from(secret, 'base64url').length, 32);
  assert.ok(created_at === updated_at);
  assert.equal(statSync(join(home.path, 'webhook_subscriptions.json')).mode & 0o777, 0o600);
});

test('subscribe on an existing name changes what is named and keeps the secret; --rotate-secret makes a new one', async () => {
  const first = await json('webhook', 'subscribe', 'kept', '--prompt', 'a');
  const second = await json('webhook', 'subscribe', 'kept', '--deliver', 'local');
  assert.deepEqual([second.secret, second.created], [first.secret, false]);
  assert.equal(record('kept').prompt, 'a');
  const third = await json('webhook', 'subscribe', 'kept', '--rotate-secret', '--keep-old-secret');
  assert.notEqual(third.secret, first.secret);
  assert.deepEqual(record('kept').secret, [third.secret, first.secret]);
});

test('from a chat, subscriptions of the user stay as they are, and a secret is shown once', async () => {
  const chat = (...args: string[]) => home.svc(args, { env: { SVC_FROM_CHAT: '1' } });
  await json('webhook', 'subscribe', 'mine', '--deliver', 'local');
  const before = record('mine');
  for (const args of [
    ['webhook', 'subscribe', 'mine', '--deliver', 'log'],
    ['webhook', 'remove', 'mine'],
  ]) {
    const { code, stdout, stderr } = await chat(...args);
    assert.equal(code, 1);
    assert.match(stderr, /The user made the subscription mine/);
    assert.ok(!(stdout + stderr).includes(before.secret));
  }
  assert.deepEqual(record('mine'), before);

  const made = await chat('webhook', 'subscribe', 'theirs', '--deliver', 'local');
  const { secret } = record('theirs');
  assert.ok(made.stdout.includes(secret), 'the person needs it for the sender');
  const changed = await chat('webhook', 'subscribe', 'theirs', '--deliver', 'log', '--json');
  assert.deepEqual([changed.code, record('theirs').deliver, record('theirs').secret], [0, 'log', secret]);
  assert.ok(!(changed.stdout + changed.stderr).includes(secret));

  await svc('webhook', 'subscribe', 'theirs', '--deliver', 'local');
  assert.equal((await chat('webhook', 'remove', 'theirs')).code, 1, 'what a person changed is theirs');
  await chat('webhook', 'subscribe', 'short');
  assert.equal((await chat('webhook', 'remove', 'short')).code, 0);
});

test('subscribe refuses names, targets, schemes and combinations that cannot work, and cannot grant tools', async () => {
  for (const args of [
    ['bad/name'],
    ['.hidden'],
    ['x', '--deliver', 'telegrm'],
    ['x', '--deliver-only'],
    ['x', '--scheme', 'nothing'],
    ['x', '--toolsets', 'terminal'],
  ]) {
    const { code, stderr } = await home.svc(['webhook', 'subscribe', ...args]);
    assert.equal(code, 2, args.join(' '));
    assert.ok(stderr.length > 20);
  }
  assert.equal(record('x'), undefined);
});

test('list shows subscriptions and static routes without their secrets; show prints a fingerprint unless told to reveal', async () => {
  await svc('webhook', 'subscribe', 'listed', '--events', 'push');
  const rows = await json('webhook', 'list');
  const listed = rows.find((row: { name: string }) => row.name === 'listed');
  assert.deepEqual([listed.source, listed.events, listed.deliver], ['subscription', ['push'], 'log']);
  assert.ok(rows.some((row: { name: string; source: string }) => row.name === 'fixed' && row.source === 'config'));
  const text = (await svc('webhook', 'list')) + (await svc('webhook', 'show', 'listed'));
  assert.ok(!text.includes(record('listed').secret));
  assert.ok((await svc('webhook', 'show', 'listed', '--reveal')).includes(record('listed').secret));
});

test('test sends a signed event of the first type that the subscription takes, and shows what came of it', async () => {
  await svc(
    'webhook',
    'subscribe',
    'tested',
    '--events',
    'deployment,push',
    '--prompt',
    'Got {message}',
    '--deliver',
    'local',
  );
  const result = await json('webhook', 'test', 'tested');
  assert.equal(result.status, 200);
  assert.deepEqual([result.body.status, result.body.event], ['accepted', 'deployment']);
  assert.deepEqual([result.run.state, result.run.deliveries[0].target], ['delivered', 'local']);
  const printed = await svc('webhook', 'test', 'tested', '--payload', '{"message":"from me"}');
  assert.match(printed, /200 \{"status":"accepted"/);
  assert.match(printed, /from me/);
  const quick = await json('webhook', 'test', 'tested', '--no-wait');
  assert.equal(quick.run, null);
});

test('a test that the gateway refuses, and one whose answer does not arrive, end with an error that says what to do', async () => {
  const broken = await home.svc(['webhook', 'test', 'tested', '--payload', '{']);
  assert.equal(broken.code, 1);
  assert.match(broken.stderr, /must be one JSON text/);
  await svc('webhook', 'subscribe', 'undeliverable', '--deliver', 'telegram:5');
  const dead = await home.svc(['webhook', 'test', 'undeliverable']);
  assert.equal(dead.code, 1);
  assert.match(dead.stderr, /ended as dead[\s\S]*svc runs show run_/);
});

test('test signs as the scheme of the subscription wants it', async () => {
  for (const scheme of ['stripe', 'linear']) {
    await svc('webhook', 'subscribe', 'signed', '--scheme', scheme, '--events', 'thing');
    const { status, body } = await json('webhook', 'test', 'signed', '--no-wait');
    assert.deepEqual([status, body.status, body.event], [200, 'accepted', 'thing'], scheme);
  }
  await svc('webhook', 'subscribe', 'merge', '--events', 'Merge Request Hook');
  assert.equal((await json('webhook', 'test', 'merge', '--no-wait')).body.event, 'Merge Request Hook');
});

test('test never reads routes from config.yaml, and says when there is no gateway', async () => {
  const fixed = await home.svc(['webhook', 'test', 'fixed']);
  assert.equal(fixed.code, 1);
  assert.match(fixed.stderr, /config\.yaml/);
  const away = await home.svc(['webhook', 'test', 'tested', '--url', 'http://127.0.0.1:1']);
  assert.equal(away.code, 1);
  assert.match(away.stderr, /does not answer/);
});

test('events accounts for every delivery; replay carries one out again; whatif shows what a change would do', async () => {
  await svc('webhook', 'subscribe', 'stored', '--prompt', 'Old {message}', '--deliver', 'local');
  await svc('webhook', 'test', 'stored', '--payload', '{"message":"one","action":"opened"}');
  await svc('webhook', 'test', 'stored', '--payload', '{"message":"two","action":"closed"}');
  const events = await json('webhook', 'events', '--route', 'stored');
  assert.deepEqual(
    events.map((event: { verdict: string; run_state: string }) => [event.verdict, event.run_state]),
    [
      ['accepted', 'delivered'],
      ['accepted', 'delivered'],
    ],
  );
  const shown = await json('webhook', 'events', events[0].id);
  assert.deepEqual(shown.payload, { message: 'two', action: 'closed' });
  assert.ok(!JSON.stringify(shown.headers).includes('sha256='));

  const refused = await home.svc(['webhook', 'replay', events[0].id]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /--force/);
  const again = await json('webhook', 'replay', events[0].id, '--force');
  assert.equal(again.run.state, 'delivered');

  const changed = join(home.path, 'changed.yaml');
  const route = '{ secret: s, prompt: "New {message} {nonsense}", filters: { field: action, equals: opened } }';
  const yaml = `platforms:\n  webhook:\n    extra:\n      routes:\n        stored: ${route}\n`;
  (await import('node:fs')).writeFileSync(changed, yaml);
  const whatif = await json('webhook', 'whatif', 'stored', '--config', changed, '--last', '10');
  const [two, one] = whatif.trials;
  assert.deepEqual([two.verdict.before, two.verdict.after], ['accepted', 'filtered']);
  assert.deepEqual([one.verdict.after, one.prompt], ['accepted', { before: 'Old one', after: 'New one {nonsense}' }]);
  assert.deepEqual(one.unresolved, ['{nonsense}']);
  const text = await svc('webhook', 'whatif', 'stored', '--config', changed);
  assert.match(text, /accepted -> filtered/);
  assert.match(text, /Never resolved: \{nonsense\}/);
  assert.equal((await json('webhook', 'events', '--route', 'stored')).length, 2);
});

test('remove deletes a subscription; a name that does not exist is told with one that is alike', async () => {
  await svc('webhook', 'subscribe', 'gone');
  await svc('webhook', 'remove', 'gone');
  assert.equal(record('gone'), undefined);
  const { code, stderr } = await home.svc(['webhook', 'remove', 'lsted']);
  assert.equal(code, 1);
  assert.match(stderr, /Did you mean listed\?/);
});

test('subscribe turns webhooks on when they are off, says so, and keeps the comments of config.yaml', async () => {
  const other = createSvcHome();
  try {
    other.configure('# my settings\ntimezone: UTC # home\n');
    const chat = await other.svc(['webhook', 'subscribe', 'asked'], { env: { SVC_FROM_CHAT: '1' } });
    assert.match(chat.stderr, /Webhooks are off: the user turns them on/);
    assert.equal(readFileSync(join(other.path, 'config.yaml'), 'utf8'), '# my settings\ntimezone: UTC # home\n');
    const { code, stderr } = await other.svc(['webhook', 'subscribe', 'hello']);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /platforms\.webhook\.enabled is now true/);
    const text = readFileSync(join(other.path, 'config.yaml'), 'utf8');
    assert.match(text, /# my settings\ntimezone: UTC # home\n/);
    assert.match(text, /enabled: true/);
  } finally {
    await other.remove();
  }
});

test('gateway setup edits config.yaml from flags, keeps comments, and makes a secret when none is given', async () => {
  const other = createSvcHome();
  try {
    other.configure('# my settings\nplatforms:\n  webhook:\n    enabled: false # later\n');
    const asked = await other.svc(['gateway', 'setup']);
    assert.equal(asked.code, 2);
    const flags = ['--enable', '--port', '9000', '--public-url', 'https://hooks.example.org', '--yes'];
    const { code, stdout, stderr } = await other.svc(['gateway', 'setup', ...flags], { env: { WEBHOOK_PORT: '' } });
    assert.equal(code, 0, stderr);
    const text = readFileSync(join(other.path, 'config.yaml'), 'utf8');
    assert.match(text, /# my settings/);
    assert.match(text, /enabled: true # later/);
    assert.match(text, /port: 9000/);
    const secret = /secret: (\S+)/.exec(text)?.[1] ?? '';
    assert.equal(Buffer.from(secret, 'base64url').length, 32);
    assert.ok(stdout.includes(secret));
    const subscribed = await other.svc(['webhook', 'subscribe', 'x'], { env: { WEBHOOK_PORT: '' } });
    assert.match(subscribed.stdout, /https:\/\/hooks\.example\.org\/webhooks\/x/);
    const given = await other.svc(['gateway', 'setup', '--secret', '-', '--yes'], { input: 'from-stdin\n' });
    assert.equal(given.code, 0, given.stderr);
    assert.match(readFileSync(join(other.path, 'config.yaml'), 'utf8'), /secret: from-stdin/);
    assert.ok(!given.stdout.includes('from-stdin'));
    const help = await other.svc(['gateway', 'setup', '--help']);
    assert.match(
      help.stdout.replace(/\s+/g, ' '),
      /reads it from standard input; written out, other users .* can see it/,
    );
    assert.equal((await other.svc(['gateway', 'setup', '--port', '99999', '--yes'])).code, 2);
  } finally {
    await other.remove();
  }
});

test('svc gateway starts in the background and returns when it answers', async () => {
  const other = createSvcHome();
  try {
    const started = await other.svc(['gateway']);
    assert.equal(started.code, 0, started.stderr);
    const url = /http:\/\/\S+/.exec(started.stdout)?.[0] ?? '';
    assert.equal((await fetch(`${url}/health`)).status, 200);
    assert.equal((await other.svc(['gateway', 'stop'])).code, 0);
    await until(async () =>
      fetch(`${url}/health`).then(
        () => false,
        () => true,
      ),
    );
  } finally {
    await other.svc(['gateway', 'stop']);
    await other.remove();
  }
});
