// Every example, copied into a home of its own and used as its README says.

import assert from 'node:assert/strict';
import { chmodSync, cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { sendTo } from '../support/gateway.ts';
import { startHttpDouble } from '../support/http-double.ts';
import { createSvcHome, type SvcHome } from '../support/svc.ts';
import { until } from '../support/until.ts';

const examples = resolve(import.meta.dirname, '../../examples');
const homes: SvcHome[] = [];
after(() => Promise.all(homes.map((home) => home.remove())));

function homeOf(example: string, dotEnv = ''): SvcHome {
  const home = createSvcHome();
  homes.push(home);
  cpSync(join(examples, example), home.path, { recursive: true });
  writeFileSync(join(home.path, '.env'), dotEnv, { mode: 0o600 });
  chmodSync(join(home.path, 'config.yaml'), 0o600);
  return home;
}

const deliveredTo = (home: SvcHome, name: string): Promise<string> =>
  until(() => {
    try {
      const folder = join(home.path, 'deliveries', name);
      const [first] = readdirSync(folder).filter((name) => name.endsWith('.md'));
      return first === undefined ? undefined : readFileSync(join(folder, first), 'utf8');
    } catch {
      return undefined;
    }
  });

test('the index of the examples names every folder', () => {
  const index = readFileSync(join(examples, 'README.md'), 'utf8');
  const folders = readdirSync(examples, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  assert.ok(folders.length >= 4);
  for (const { name } of folders) assert.ok(index.includes(`[${name}](${name})`), name);
});

test('01-hello: an unsigned request from this machine becomes a file', async () => {
  const home = homeOf('01-hello');
  const { url } = await home.startGateway();
  const reply = await sendTo(`${url}/webhooks/hello`, { body: { name: 'Ada' }, secret: false });
  assert.equal(reply.status, 200);
  assert.equal(reply.json.status, 'accepted');
  assert.match(await deliveredTo(home, 'hello'), /Greet Ada in one sentence\./);
});

test('02-pull-requests: a new pull request is reviewed, a push to it is not', async () => {
  const home = homeOf('02-pull-requests', 'REVIEW_SECRET=for-the-example\n');
  const { url } = await home.startGateway();
  const send = (action: string) =>
    sendTo(`${url}/webhooks/review`, {
      secret: 'for-the-example',
      event: 'pull_request',
      body: { action, pull_request: { number: 7, title: 'Add tea', body: 'Hot.' }, repository: { full_name: 'a/b' } },
    });
  assert.equal((await send('synchronize')).json.status, 'ignored');
  assert.equal((await send('opened')).json.status, 'accepted');
  assert.match(await deliveredTo(home, 'review'), /Review pull request #7 of a\/b: Add tea/);
});

test('03-alerts-without-a-model: an alert becomes one push message', async () => {
  await using ntfy = await startHttpDouble(() => ({ json: { id: 'm1' } }));
  // The double is on loopback, which outgoing messages reach because the operator wrote its address.
  const home = homeOf('03-alerts-without-a-model', `ALERT_TOKEN=for-the-example\nNTFY_URL=${ntfy.url}\n`);
  const { url } = await home.startGateway();
  const reply = await sendTo(`${url}/webhooks/alert`, {
    secret: false,
    headers: { authorization: 'Bearer for-the-example' },
    body: { status: 'firing', alerts: [{ labels: { alertname: 'DiskFull', instance: 'db-1' } }] },
  });
  assert.equal(reply.status, 200);
  assert.equal(reply.json.status, 'delivered');
  assert.equal(reply.json.target, 'ntfy');
  assert.equal(ntfy.requests.length, 1);
  assert.match(ntfy.requests[0]?.text ?? '', /firing: DiskFull on db-1/);
});

test('04-watchdog: while there is room nobody is woken, and the reason is on record', async () => {
  const home = homeOf('04-watchdog');
  const create = ['cron', 'create', 'every 15m', 'Say how full the disk is.', '--name', 'disk', '--script', 'disk.sh'];
  assert.equal((await home.svc([...create, '--deliver', 'local'])).code, 0);
  const script = join(home.path, 'scripts', 'disk.sh');
  writeFileSync(script, readFileSync(script, 'utf8').replace(':-90}', ':-101}'));
  assert.equal((await home.svc(['cron', 'run', 'disk', '--wait'])).code, 0);
  const asleep = await home.svc(['cron', 'why', 'disk']);
  assert.match(asleep.stdout, /wake/);
  writeFileSync(script, readFileSync(script, 'utf8').replace(':-101}', ':-0}'));
  assert.equal((await home.svc(['cron', 'run', 'disk', '--wait'])).code, 0);
  assert.match(await deliveredTo(home, 'disk'), /the limit is 0 %/);
});
