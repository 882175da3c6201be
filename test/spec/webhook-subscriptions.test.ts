// Contract: "Dynamic subscription" and the rules about the subscription file.

import assert from 'node:assert/strict';
import { renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { changeSubscriptions } from '../../src/webhooks/subscriptions.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
let file: string;
before(async () => {
  gateway = await startTestGateway({ routes: { fixed: { prompt: 'static' } }, extra: { rate_limit: 1000 } });
  file = join(gateway.home, 'webhook_subscriptions.json');
});
after(() => gateway[Symbol.asyncDispose]());

const write = (value: unknown) => writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
const statusOf = async (name: string, secret = 'dyn') => (await gateway.send(name, { secret })).status;

test('a subscription works as soon as it stands in the file, and is gone with it', async () => {
  assert.equal(await statusOf('fresh'), 404);
  write({ fresh: { secret: 'dyn', prompt: 'p {a}', events: [], deliver: 'log', skills: [] } });
  assert.equal(await statusOf('fresh'), 200);
  write({});
  assert.equal(await statusOf('fresh'), 404);
  rmSync(file);
  assert.equal(await statusOf('fresh'), 404);
});

test('a change is seen although the modification time went back or the size stayed the same', async () => {
  write({ a1: { secret: 'dyn' } });
  assert.equal(await statusOf('a1'), 200);
  write({ a2: { secret: 'dyn' } });
  assert.equal(await statusOf('a2'), 200);
  write({ a3: { secret: 'dyn' } });
  utimesSync(file, 1000, 1000);
  assert.equal(await statusOf('a3'), 200);
  assert.equal(await statusOf('a2'), 404);
});

test('a rotated secret counts at once', async () => {
  write({ rotating: { secret: 'old' } });
  assert.equal(await statusOf('rotating', 'old'), 200);
  write({ rotating: { secret: ['new', 'old'] } });
  assert.deepEqual([await statusOf('rotating', 'old'), await statusOf('rotating', 'new')], [200, 200]);
  write({ rotating: { secret: 'new' } });
  assert.deepEqual([await statusOf('rotating', 'old'), await statusOf('rotating', 'new')], [401, 200]);
});

test('while the file is broken the last good one counts, with one log line and not one per request', async () => {
  write({ steady: { secret: 'dyn' } });
  assert.equal(await statusOf('steady'), 200);
  const broken = () => gateway.logs().filter((line) => line.message.includes('subscription file is broken')).length;
  const before = broken();
  write('{"steady": {"secr');
  for (let count = 0; count < 5; count++) assert.equal(await statusOf('steady'), 200);
  assert.equal(broken(), before + 1);
  write('[]');
  assert.equal(await statusOf('steady'), 200);
  assert.equal(broken(), before + 2);
  write({ steady: { secret: 'dyn' }, more: { secret: 'dyn' } });
  assert.equal(await statusOf('more'), 200);
});

test('one bad record is left out, the others work', async () => {
  write({
    bad: { secret: 'dyn', events: 'no list' },
    worse: 7,
    direct: { secret: 'dyn', deliver_only: true },
    good: { secret: 'dyn' },
  });
  assert.deepEqual(
    [await statusOf('bad'), await statusOf('worse'), await statusOf('direct'), await statusOf('good')],
    [404, 404, 404, 200],
  );
});

test('a static route of the same name wins; a subscription that is switched off answers 404', async () => {
  write({ fixed: { secret: 'dyn', prompt: 'dynamic' }, off: { secret: 'dyn', enabled: false } });
  assert.equal(await statusOf('fixed'), 401);
  assert.equal((await gateway.send('fixed')).status, 200);
  assert.equal((await gateway.newestRun('fixed')).prompt, 'static');
  assert.equal(await statusOf('off'), 404);
});

test('requests during many atomic rewrites never see a missing route', async () => {
  write({ busy: { secret: 'dyn' } });
  let writing = true;
  const rewriting = (async () => {
    for (let count = 0; count < 200; count++) {
      writeFileSync(`${file}.next`, JSON.stringify({ busy: { secret: 'dyn', description: 'x'.repeat(count) } }));
      renameSync(`${file}.next`, file);
      await new Promise((resolve) => setImmediate(resolve));
    }
    writing = false;
  })();
  while (writing) assert.equal(await statusOf('busy'), 200);
  await rewriting;
});

test('the file is written whole and for its owner only, also by many writers at once', async () => {
  rmSync(file, { force: true });
  await Promise.all(
    Array.from({ length: 20 }, async (_, index) =>
      changeSubscriptions(file, (subscriptions) => subscriptions.set(`s${index}`, { secret: 'dyn' })),
    ),
  );
  assert.equal(statSync(file).mode & 0o777, 0o600);
  for (let index = 0; index < 20; index++) assert.equal(await statusOf(`s${index}`), 200);
});
