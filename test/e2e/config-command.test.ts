import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createSvcHome } from '../support/svc.ts';

const home = createSvcHome();
after(() => home.remove());
const file = join(home.path, 'config.yaml');

test('svc config set, get and --unset change one key, keep comments and leave a private file', async () => {
  home.configure('# mine\nlog: # how much\n  level: info\n');
  assert.equal((await home.svc(['config', 'path'])).stdout, `${file}\n`);
  const set = await home.svc(['config', 'set', 'platforms.webhook.extra.rate_limit', '60']);
  assert.equal(set.code, 0, set.stderr);
  const text = readFileSync(file, 'utf8');
  for (const comment of ['# mine', '# how much']) assert.ok(text.includes(comment), comment);
  assert.match(text, /rate_limit: 60/);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal((await home.svc(['config', 'get', 'platforms.webhook.extra.rate_limit'])).stdout, '60\n');
  assert.equal((await home.svc(['config', 'set', '--unset', 'platforms.webhook.extra.rate_limit'])).code, 0);
  assert.equal((await home.svc(['config', 'get', 'platforms.webhook.extra.rate_limit'])).stdout, '30\n');
});

test('a secret comes in through standard input and is never printed', async () => {
  const set = await home.svc(['config', 'set', 'platforms.messenger_1.token', '-'], { input: '123:hunter2\n' });
  assert.equal(set.code, 0, set.stderr);
  assert.match(readFileSync(file, 'utf8'), /token: 123:hunter2\n/);
  for (const args of [
    ['config', 'show'],
    ['config', 'show', '--json'],
    ['config', 'get', 'platforms.telegram.token'],
  ]) {
    const { code, stdout } = await home.svc(args);
    assert.equal(code, 0);
    assert.match(stdout, /\*{8}/);
    assert.doesNotMatch(stdout, /hunter2/);
  }
});

test('a change that would not be valid is refused with its reason and writes nothing', async () => {
  const before = readFileSync(file, 'utf8');
  for (const [args, reason] of [
    [['log.level', 'loud'], /debug/],
    [['log.lvel', 'info'], /`level`/],
    [['platforms.telegram.extra.no_such', 'x'], /no_such/],
    [['platforms.webhook.extra.port', '99999'], /65535/],
  ] as const) {
    const result = await home.svc(['config', 'set', ...args]);
    assert.equal(result.code, 1);
    assert.match(result.stderr, reason);
  }
  assert.equal((await home.svc(['config', 'set', 'log.level'])).code, 2);
  assert.equal(readFileSync(file, 'utf8'), before);
});

test('an unknown key and one without a value are told apart', async () => {
  const unset = await home.svc(['config', 'get', 'timezone']);
  assert.deepEqual([unset.code, unset.stdout], [1, '']);
  assert.match(unset.stderr, /not set/);
  assert.match((await home.svc(['config', 'get', 'time_zone'])).stderr, /no setting/);
});
