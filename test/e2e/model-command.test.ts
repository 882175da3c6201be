// `svc model` as a person and a script meet it, against a scripted model server.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { openTerminal, type PseudoTerminal } from '../support/pseudo-terminal.ts';
import { createSvcHome, type SvcHome } from '../support/svc.ts';

const KEY = 'sk-secret-1234567890';
const homes: SvcHome[] = [];
const terminals: PseudoTerminal[] = [];
let server: ModelServer;

before(async () => {
  server = await startModelServer(
    ({ body, headers }) => {
      if (body.model === 'silent') return { delayMs: 60_000 };
      if (body.model === 'locked' && headers.authorization !== `Bearer ${KEY}`) return { status: 401 };
      return body.model === 'broken'
        ? { status: 404, body: '{"error":{"message":"no such model"}}' }
        : { text: 'I am ready.' };
    },
    { models: ['small', 'locked'] },
  );
});
after(async () => {
  await server.close();
  await Promise.all(homes.map((home) => home.remove()));
});
afterEach(() => {
  for (const terminal of terminals.splice(0)) if (terminal.running) terminal.kill();
});

function newHome(yaml?: string): SvcHome & { config(): string } {
  const home = createSvcHome();
  homes.push(home);
  if (yaml !== undefined) home.configure(yaml);
  const path = join(home.path, 'config.yaml');
  return { ...home, config: () => (existsSync(path) ? readFileSync(path, 'utf8') : '') };
}

test('without a model the demo is in force, and a check says so', async () => {
  const home = newHome();
  const shown = await home.svc(['model', '--json']);
  assert.deepEqual(JSON.parse(shown.stdout), { provider: 'demo', name: null, server: null, demo: true });
  const check = await home.svc(['model', '--check']);
  assert.equal(check.code, 0);
  assert.match(check.stdout, /\[demo model\]/);
});

test('flags save a model only after it answered, and keep comments and other settings', async () => {
  const home = newHome(
    '# my settings\nmodel: # chosen by me\n  max_tokens: 99 # short\n  context_length: 1\ntimezone: Europe/Berlin\n',
  );
  const refused = await home.svc(['model', '--base-url', server.url, '--name', 'broken']);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /no such model/);
  assert.doesNotMatch(home.config(), /broken/);

  const saved = await home.svc(['model', '--base-url', server.url, '--name', 'small', '--json']);
  assert.equal(saved.code, 0, saved.stderr);
  const { answer, local, timeouts } = JSON.parse(saved.stdout);
  assert.deepEqual([answer, local, timeouts], ['I am ready.', true, { read_s: 1800, stale_s: null, call_s: 1800 }]);
  for (const kept of ['# my settings', '# chosen by me', 'max_tokens: 99 # short'])
    assert.ok(home.config().includes(kept));
  assert.match(home.config(), /timezone: Europe\/Berlin/);
  assert.doesNotMatch(home.config(), /context_length/);
  assert.equal(server.requests.at(-1)?.body.max_tokens, 99);

  const check = await home.svc(['model', '--check']);
  assert.match(check.stdout, new RegExp(`small at ${server.url}`));
});

test('models are listed for people and for programs', async () => {
  const home = newHome();
  const table = await home.svc(['model', '--list', '--base-url', `${server.url}/v1`]);
  assert.match(table.stdout, /MODEL[\s\S]*small[\s\S]*locked/);
  const json = await home.svc(['model', '--list', '--base-url', server.url, '--json']);
  assert.deepEqual(
    JSON.parse(json.stdout).map((row: { model: string }) => row.model),
    ['small', 'locked'],
  );
  const nothing = await home.svc(['model', '--list', '--base-url', 'http://127.0.0.1:1']);
  assert.equal(nothing.code, 1);
  assert.match(nothing.stderr, /Cannot list the models[\s\S]*Is the server running/);
});

test('a key is named by its variable, used, and never written or printed', async () => {
  const home = newHome();
  const args = ['model', '--base-url', server.url, '--name', 'locked', '--api-key-env', 'MY_KEY'];
  const without = await home.svc(args);
  assert.equal(without.code, 1);
  assert.match(without.stderr, /MY_KEY is not set/);
  const wrong = await home.svc(args, { env: { MY_KEY: 'sk-wrong' } });
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /401[\s\S]*Check the key/);
  const saved = await home.svc(args, { env: { MY_KEY: KEY } });
  assert.equal(saved.code, 0, saved.stderr);
  assert.match(home.config(), /api_key_env: MY_KEY/);
  assert.ok(![home.config(), saved.stdout, saved.stderr].join('').includes(KEY));
});

test('a key variable that is not set is told, also when the server wants no key; nothing is claimed or saved', async () => {
  const home = newHome();
  const asked = server.requests.length;
  const args = ['model', '--base-url', server.url, '--name', 'small', '--api-key-env', 'NOPE_KEY'];
  for (const more of [[], ['--check'], ['--json']]) {
    const refused = await home.svc([...args, ...more]);
    assert.deepEqual([refused.code, refused.stdout], [1, '']);
    assert.match(refused.stderr, /NOPE_KEY is not set, so the model was not tried and nothing is saved/);
  }
  assert.equal(home.config(), '');
  const unchecked = await home.svc([...args, '--unchecked', '--json']);
  assert.equal(unchecked.code, 0);
  assert.match(unchecked.stderr, /Note: NOPE_KEY is not set/);
  assert.equal(JSON.parse(unchecked.stdout).checked, false);
  assert.match(home.config(), /api_key_env: NOPE_KEY/);
  const check = await home.svc(['model', '--check']);
  assert.match(check.stderr, /NOPE_KEY is not set/);
  assert.equal(server.requests.length, asked);
});

test('a key of one server is not sent to another', async () => {
  const home = newHome(`model: { base_url: 'http://127.0.0.1:1', name: small, api_key: '${KEY}' }\n`);
  const saved = await home.svc(['model', '--base-url', server.url, '--name', 'small']);
  assert.equal(saved.code, 0, saved.stderr);
  assert.equal(server.requests.at(-1)?.headers.authorization, undefined);
  assert.ok(!home.config().includes(KEY));
});

test('the environment holds against what is saved, and that is said', async () => {
  const home = newHome();
  const env = { SVC_MODEL: 'small', SVC_MODEL_BASE_URL: server.url };
  const check = await home.svc(['model', '--check', '--json'], { env });
  assert.equal(JSON.parse(check.stdout).model, `small at ${server.url}`);
  const saved = await home.svc(['model', '--provider', 'demo'], { env });
  assert.match(saved.stderr, /SVC_MODEL, SVC_MODEL_BASE_URL in the environment/);
});

test('bad input is answered with the next step', async () => {
  const home = newHome();
  for (const [args, env, code, message] of [
    [['--base-url', 'localhost:8080'], {}, 2, /is not an address[\s\S]*http:\/\//],
    [['--provider', 'acme'], {}, 2, /no provider "acme"[\s\S]*openai-compatible/],
    [['--base-url', 'http://127.0.0.1:1', '--name', 'x'], {}, 1, /Cannot reach the model server/],
    [['--provider', 'anthropic', '--name', 'x'], {}, 1, /no key[\s\S]*ANTHROPIC_API_KEY/],
    [['--check'], { SVC_STREAM_READ_TIMEOUT: 'soon' }, 1, /SVC_STREAM_READ_TIMEOUT is "soon"/],
  ] as const) {
    const done = await home.svc(['model', ...args], { env });
    assert.equal(done.code, code, done.stderr);
    assert.match(done.stderr, message);
  }
});

test('the gateway does not start with a clock that cannot be read', async () => {
  const home = newHome();
  const done = await home.svc(['gateway', 'run'], { env: { SVC_API_TIMEOUT: '-5' } });
  assert.equal(done.code, 1);
  assert.match(done.stderr, /SVC_API_TIMEOUT is "-5"/);
});

test('a clock set in .env holds for a real question, and its message names the variable', async () => {
  const home = newHome(`model: { base_url: '${server.url}', name: silent }\n`);
  writeFileSync(join(home.path, '.env'), 'SVC_STREAM_READ_TIMEOUT=0.5\n');
  const asked = await home.svc(['ask', 'Are you there?']);
  assert.equal(asked.code, 1);
  assert.match(asked.stderr, /sent nothing for 0.5 s \(stream read timeout\)[\s\S]*SVC_STREAM_READ_TIMEOUT=<seconds>/);
});

test('the guided choice takes a custom endpoint with a key, tries it and saves it', async () => {
  const home = newHome();
  const terminal = openTerminal(['model'], { SVC_HOME: home.path, HOME: home.path });
  terminals.push(terminal);
  await terminal.shows(/Where is the model\?[\s\S]*Custom endpoint/);
  // Servers that happen to run on this machine stand above it.
  const pointed = (): string => stripVTControlCharacters(terminal.raw().slice(terminal.raw().lastIndexOf('●')));
  while (!pointed().startsWith('● Custom endpoint')) {
    terminal.type('\u001b[B');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  terminal.type('\r');
  await terminal.shows(/Base URL/);
  terminal.type('not an address\r');
  await terminal.shows(/begins with http/);
  terminal.type(`${'\u007f'.repeat(20)}${server.url}\r`);
  await terminal.shows(/need a key/);
  terminal.type('y');
  await terminal.shows(/Key \(kept in \.env/);
  terminal.type(`${KEY}\r`);
  await terminal.shows(/type to search/);
  terminal.type('lock');
  await terminal.shows(/Search:\s+lock/);
  terminal.type('\r');
  await terminal.shows(/It answered in [\s\S]*I am ready[\s\S]*Saved: locked/);
  assert.equal(await terminal.exited, 0);
  assert.match(home.config(), /name: locked/);
  assert.ok(!home.config().includes(KEY) && !terminal.raw().includes(KEY));
  const dotEnv = join(home.path, '.env');
  assert.equal(readFileSync(dotEnv, 'utf8'), `SVC_CUSTOM_MODEL_API_KEY=${KEY}\n`);
  assert.equal(statSync(dotEnv).mode & 0o777, 0o600);
  assert.equal((await home.svc(['model', '--check'])).code, 0);
});

test('leaving the guided choice changes nothing', async () => {
  const home = newHome();
  const terminal = openTerminal(['model'], { SVC_HOME: home.path, HOME: home.path });
  terminals.push(terminal);
  await terminal.shows(/Where is the model\?/);
  terminal.type('\u0003');
  await terminal.shows(/Nothing was changed/);
  assert.equal(await terminal.exited, 0);
  assert.equal(home.config(), '');
});
