import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { createSvcHome, gatewayStateOf, type SvcHome } from '../support/svc.ts';
import { until } from '../support/until.ts';

const homes: SvcHome[] = [];
after(() => Promise.all(homes.map((home) => home.remove())));

function newHome(): SvcHome {
  const home = createSvcHome();
  homes.push(home);
  return home;
}

test('a fresh home gets a gateway on loopback that answers /health, private files and no webhooks', async () => {
  const home = newHome();
  writeFileSync(join(home.path, '.env'), '# nothing\n', { mode: 0o644 });
  const gateway = await home.startGateway();
  assert.match(gateway.url, /^http:\/\/127\.0\.0\.1:/);
  const health = await fetch(`${gateway.url}/health`);
  assert.deepEqual([health.status, await health.json()], [200, { status: 'ok', platform: 'webhook' }]);
  assert.equal((await fetch(`${gateway.url}/webhooks/any`, { method: 'POST', body: '{}' })).status, 404);
  assert.equal(statSync(home.path).mode & 0o777, 0o700);
  for (const file of ['.env', 'svc.db', 'gateway.json', 'gateway.lock', 'logs/gateway.log']) {
    assert.equal(statSync(join(home.path, file)).mode & 0o077, 0, file);
  }
  assert.equal(await gateway.end(), 0);
  assert.equal(existsSync(join(home.path, 'gateway.json')), false);
});

test('a second gateway of the same home is refused, and a crash leaves no lock behind', async () => {
  const home = newHome();
  const first = await home.startGateway();
  const second = await home.svc(['gateway', 'run']);
  assert.equal(second.code, 1);
  assert.match(second.stderr, /already running/);
  assert.equal((await fetch(`${first.url}/health`)).status, 200);
  await first.end('SIGKILL');
  const third = await home.startGateway();
  assert.equal((await fetch(`${third.url}/health`)).status, 200);
  await third.end();
});

test('svc gateway starts in the background, status and logs show it, stop ends it', async () => {
  const home = newHome();
  try {
    const started = await home.svc(['gateway']);
    assert.equal(started.code, 0, started.stderr);
    const { pid, url } = gatewayStateOf(home.path);
    for (const shown of [url, String(pid), 'gateway.log']) assert.ok(started.stdout.includes(shown), shown);
    assert.equal((await fetch(`${url}/health`)).status, 200);

    const status = await home.svc(['gateway', 'status', '--json']);
    const told = JSON.parse(status.stdout) as Record<string, unknown>;
    assert.deepEqual([told.running, told.pid, told.url], [true, pid, url]);
    assert.ok('runs' in told && 'deliveries' in told);

    const again = await home.svc(['gateway']);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /already running/);

    assert.match((await home.svc(['gateway', 'logs'])).stdout, /The gateway is ready/);
    const restarted = await home.svc(['gateway', 'restart']);
    assert.equal(restarted.code, 0, restarted.stderr);
    assert.notEqual(gatewayStateOf(home.path).pid, pid);
  } finally {
    const stopped = await home.svc(['gateway', 'stop']);
    assert.equal(stopped.code, 0, stopped.stderr);
  }
  assert.equal((await home.svc(['gateway', 'status'])).code, 1);
  assert.match((await home.svc(['gateway', 'stop'])).stdout, /was not running/);
});

test('svc gateway logs -f goes on with what is written, also after a rotation', async () => {
  const home = newHome();
  mkdirSync(join(home.path, 'logs'));
  const log = join(home.path, 'logs', 'gateway.log');
  writeFileSync(log, '{"level":"info","time":"2026-01-01T00:00:00Z","message":"one"}\n');
  const launcher = resolve(import.meta.dirname, '../../bin/svc');
  const child = spawn(process.execPath, [launcher, 'gateway', 'logs', '-f'], {
    env: { ...process.env, SVC_HOME: home.path },
  });
  try {
    let shown = '';
    child.stdout.on('data', (part) => {
      shown += part;
    });
    await until(() => shown.includes('one'));
    writeFileSync(log, 'two\n', { flag: 'a' });
    await until(() => shown.includes('two'));
    const { renameSync } = await import('node:fs');
    renameSync(log, `${log}.1`);
    writeFileSync(log, 'three\n');
    await until(() => shown.includes('three'));
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

test('a port in use is one clear message that names the setting', async () => {
  const home = newHome();
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const address = other.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  for (const args of [['gateway', 'run'], ['gateway']]) {
    const result = await home.svc(args, { env: { WEBHOOK_PORT: String(port) } });
    assert.equal(result.code, 1);
    assert.match(result.stderr, /already in use/);
    assert.match(result.stderr, /platforms\.webhook\.extra\.port/);
    assert.doesNotMatch(result.stderr, /\n\s+at /);
  }
  other.close();
});

test('a gateway that cannot have its port begins no work', async () => {
  const home = newHome();
  const route = 'routes: { hello: { secret: INSECURE_NO_AUTH } }';
  home.configure(`runs: { concurrency: 0 }\nplatforms: { webhook: { enabled: true, extra: { ${route} } } }\n`);
  const intake = await home.startGateway();
  assert.equal((await fetch(`${intake.url}/webhooks/hello`, { method: 'POST', body: '{}' })).status, 200);
  await intake.end();

  home.configure(`platforms: { webhook: { enabled: true, extra: { ${route} } } }\n`);
  const taken = createServer().listen(0);
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  assert.equal((await home.svc(['gateway', 'run'], { env: { WEBHOOK_PORT: String(port) } })).code, 1);
  taken.close();
  const [id] = /run_\w+/.exec((await home.svc(['runs', 'list'])).stdout) ?? [];
  const { state, attempt } = JSON.parse((await home.svc(['runs', 'show', String(id), '--json'])).stdout);
  assert.deepEqual({ state, attempt }, { state: 'queued', attempt: 0 });
});

test('wrong settings are told all at once and nothing is started', async () => {
  const home = newHome();
  home.configure('log:\n  level: loud\nmodle: {}\nruns:\n  concurrency: many\n');
  for (const args of [
    ['gateway', 'run'],
    ['config', 'check'],
  ]) {
    const result = await home.svc(args);
    assert.equal(result.code, 1);
    for (const place of ['config.yaml:2', 'config.yaml:3', 'config.yaml:5', '`model`']) {
      assert.ok(result.stderr.includes(place), `${place} in ${result.stderr}`);
    }
  }
  assert.equal(existsSync(join(home.path, 'svc.db')), false);
  home.configure('model: {name: "x\n');
  assert.match((await home.svc(['gateway', 'run'])).stderr, /not valid YAML/);
  const set = await home.svc(['config', 'set', 'log.level', 'info']);
  assert.equal(set.code, 1);
  assert.equal(readFileSync(join(home.path, 'config.yaml'), 'utf8'), 'model: {name: "x\n');
});

test('a home that is a file, and one on a read-only disk, are told with what to do', async () => {
  const home = newHome();
  const file = join(home.path, 'file');
  writeFileSync(file, '');
  // Nobody may make folders in /sys, root included.
  for (const [place, args] of [
    [file, ['webhook', 'list']],
    [file, ['gateway']],
    ['/proc/svc-home', ['gateway']],
  ] as const) {
    const result = await home.svc(args, { env: { SVC_HOME: place } });
    assert.equal(result.code, 1, `${args.join(' ')} in ${place}`);
    assert.match(result.stderr, new RegExp(`Cannot use ${place}[\\s\\S]*SVC_HOME`));
  }
  for (const place of [join(file, 'home'), '/sys/svc-home']) {
    for (const args of [['gateway', 'run'], ['gateway'], ['config', 'set', 'log.level', 'info'], ['runs', 'list']]) {
      const result = await home.svc(args, { env: { SVC_HOME: place } });
      assert.equal(result.code, 1, `${args.join(' ')} in ${place}`);
      assert.match(result.stderr, /SVC_HOME/);
      assert.doesNotMatch(result.stderr, /\n\s+at /);
    }
  }
});

test('a database of a newer version is refused and left alone', async () => {
  const home = newHome();
  await (await home.startGateway()).end();
  const database = new DatabaseSync(join(home.path, 'svc.db'));
  database.exec("INSERT INTO svc_migrations (number, name) VALUES (9999, 'from the future')");
  database.close();
  const result = await home.svc(['gateway', 'run']);
  assert.equal(result.code, 1);
  assert.match(result.stderr, /newer version/);
});

test('wrong usage ends with exit code 2 and the likely word', async () => {
  const home = newHome();
  for (const [args, hint] of [
    [['gatway'], /gateway/],
    [['gateway', 'strat'], /svc gateway start/],
    [['gateway', 'status', '--jsn'], /--json/],
    [['config', 'get'], /missing required argument/],
  ] as const) {
    const result = await home.svc(args);
    assert.equal(result.code, 2, args.join(' '));
    assert.match(result.stderr, hint);
    assert.equal(result.stdout, '');
  }
  const help = await home.svc([]);
  assert.deepEqual([help.code, help.stderr], [0, '']);
  assert.match(help.stdout, /gateway/);
});

test('a second signal ends the gateway at once', async () => {
  const home = newHome();
  const gateway = await home.startGateway();
  gateway.child.kill('SIGTERM');
  gateway.child.kill('SIGTERM');
  await once(gateway.child, 'exit');
  assert.ok(gateway.child.exitCode === 0 || gateway.child.exitCode === 1);
  await (await home.startGateway()).end();
});

test('secrets of the settings never reach the log or the screen', async () => {
  const home = newHome();
  home.configure(
    'model: { api_key: hunter2-key }\nplatforms: { webhook: { enabled: true, extra: { host: 127.0.0.1, secret: hunter2-hook } } }\n',
  );
  const gateway = await home.startGateway({ env: { TELEGRAM_BOT_TOKEN: '123:hunter2-token' } });
  await fetch(`${gateway.url}/webhooks/hunter2-hook`, { method: 'POST', body: 'hunter2-key' });
  const show = await home.svc(['config', 'show']);
  assert.equal(show.code, 0, show.stderr);
  await gateway.end();
  const log = readFileSync(join(home.path, 'logs', 'gateway.log'), 'utf8');
  for (const text of [log, gateway.output(), show.stdout, show.stderr]) assert.doesNotMatch(text, /hunter2/);
  assert.match(show.stdout, /\*{8}/);
});
