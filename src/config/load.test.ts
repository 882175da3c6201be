import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { z } from 'zod';
import { SvcError } from '../core/errors.ts';
import { checkConfig, loadConfig } from './load.ts';
import type { PlatformDescription } from './platform.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-config-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const platforms: PlatformDescription[] = [
  {
    name: 'telegram',
    extra: z.strictObject({ base_url: z.url().optional(), api_hash: z.string().meta({ secret: true }).optional() }),
    env: { TELEGRAM_BOT_TOKEN: 'token' },
  },
  { name: 'sms', extra: z.strictObject({ account_sid: z.string() }), env: { TWILIO_ACCOUNT_SID: 'extra.account_sid' } },
];

const options = { home: folder, env: {}, platforms };

function load(text: string, env: NodeJS.ProcessEnv = {}, dotEnv?: string) {
  const checked = checkConfig(text, dotEnv, { ...options, env });
  if (checked.kind === 'invalid') assert.fail(JSON.stringify(checked.problems, null, 2));
  return checked.loaded;
}

function problemsOf(text: string, env: NodeJS.ProcessEnv = {}) {
  const checked = checkConfig(text, undefined, { ...options, env });
  assert.equal(checked.kind, 'invalid');
  return checked.kind === 'invalid' ? checked.problems : [];
}

test('an empty file, a comment and no file all mean the defaults', async () => {
  const { config } = await loadConfig({ home: join(folder, 'none'), env: {} });
  assert.equal(config.platforms.webhook.extra.port, 8644);
  assert.deepEqual(load('').config, config);
  assert.deepEqual(load('# nothing yet\n').config, config);
  assert.deepEqual(load('platforms:\n  telegram:\n').config.platforms.telegram?.enabled, false);
});

test('config.yaml beats defaults, .env beats config.yaml, the environment beats .env', () => {
  const yaml = 'platforms: { webhook: { extra: { port: 1 } } }';
  assert.equal(load(yaml).config.platforms.webhook.extra.port, 1);
  assert.equal(load(yaml, {}, 'WEBHOOK_PORT=2').config.platforms.webhook.extra.port, 2);
  assert.equal(load(yaml, { WEBHOOK_PORT: '3' }, 'WEBHOOK_PORT=2').config.platforms.webhook.extra.port, 3);
  assert.equal(load(yaml, { WEBHOOK_PORT: '' }, 'WEBHOOK_PORT=2').config.platforms.webhook.extra.port, 2);
});

test('every documented environment variable reaches its key', () => {
  const { config } = load('', {
    WEBHOOK_ENABLED: 'true',
    WEBHOOK_SECRET: 'global-secret',
    SVC_DATABASE_URL: 'postgres://u:pw%21x@db/svc',
    SVC_MODEL: 'qwen3',
    SVC_MODEL_BASE_URL: 'http://localhost:11434',
    SVC_MODEL_API_KEY: 'key-123',
    TELEGRAM_BOT_TOKEN: '123:abc',
    TWILIO_ACCOUNT_SID: 'AC1',
  });
  assert.equal(config.platforms.webhook.enabled, true);
  assert.equal(config.platforms.webhook.extra.secret, 'global-secret');
  assert.equal(config.database.url, 'postgres://u:pw%21x@db/svc');
  assert.deepEqual(
    [config.model.name, config.model.base_url, config.model.api_key],
    ['qwen3', 'http://localhost:11434', 'key-123'],
  );
  assert.equal(config.platforms.telegram?.token, '123:abc');
  assert.deepEqual(config.platforms.sms?.extra, { account_sid: 'AC1' });
});

test('${NAME} is replaced in any string, $${NAME} stays text, and template fields are left alone', () => {
  const { config } = load(
    'agent: { instructions: "${GREETING} $${GREETING} cost ${amount} {a.b}" }\nfiles: { roots: ["${ROOT}/x"] }',
    { GREETING: 'hello ${ROOT}' },
    'ROOT=/srv',
  );
  assert.equal(config.agent.instructions, 'hello ${ROOT} ${GREETING} cost ${amount} {a.b}');
  assert.deepEqual(config.files.roots, ['/srv/x']);
});

test('a reference without a value names the variable and the line', () => {
  const [problem] = problemsOf('model:\n  name: x\n  api_key: ${NO_SUCH_KEY}\n');
  assert.equal(problem?.line, 3);
  assert.equal(problem?.key, 'model.api_key');
  assert.match(problem?.help ?? '', /NO_SUCH_KEY/);
});

test('all problems are told together, each with file, line and key', () => {
  const problems = problemsOf(
    [
      'modle: {}',
      'log:',
      '  level: loud',
      'runs:',
      '  concurrency: "four"',
      'platforms:',
      '  webhook:',
      '    extra:',
      '      port: 70000',
      '      routes:',
      '        a: { evnts: [x] }',
      '  telegrm: {}',
      'files:',
      '  roots: [ok, 7]',
    ].join('\n'),
  );
  const told = problems.map(({ line, key }) => `${line} ${key}`);
  assert.deepEqual(told, [
    '1 modle',
    '3 log.level',
    '5 runs.concurrency',
    '9 platforms.webhook.extra.port',
    '11 platforms.webhook.extra.routes.a.evnts',
    '12 platforms.telegrm',
    '14 files.roots.1',
  ]);
  assert.ok(problems.every((problem) => problem.file === join(folder, 'config.yaml') && problem.help !== ''));
  const helps = problems.map(({ help }) => help).join('\n');
  for (const suggestion of ['`model`', '`events`', '`telegram`', '`debug`'])
    assert.ok(helps.includes(suggestion), suggestion);
});

test('broken YAML is told with its line', () => {
  const [problem] = problemsOf('model:\n  name: "x\nlog: {}\n');
  assert.match(problem?.message ?? '', /not valid YAML/);
  assert.ok((problem?.line ?? 0) >= 2);
  assert.match(problemsOf('log: { level: info }\nlog: { level: debug }')[0]?.message ?? '', /unique/i);
  assert.match(problemsOf('- a\n- b\n')[0]?.message ?? '', /keys/);
});

test('a wrong environment value names the variable, not the file', () => {
  const problems = problemsOf('', { WEBHOOK_PORT: 'eighty', WEBHOOK_ENABLED: 'maybe' });
  assert.deepEqual(problems.map(({ file }) => file).sort(), [
    'environment variable WEBHOOK_ENABLED',
    'environment variable WEBHOOK_PORT',
  ]);
});

test('a wrong value in the file is told although the environment overrides it', () => {
  const [problem, ...more] = problemsOf('platforms:\n  webhook:\n    extra:\n      port: 99999\n', {
    WEBHOOK_PORT: '80',
  });
  assert.deepEqual([problem?.line, problem?.key, more], [4, 'platforms.webhook.extra.port', []]);
});

test('a platform may be written in either spelling, but not in both', () => {
  const { config } = load('platforms: { messenger_1: { enabled: true, token: "123:abc" } }');
  assert.equal(config.platforms.telegram?.token, '123:abc');
  assert.equal(config.platforms.messenger_1, undefined);
  const [problem] = problemsOf('platforms:\n  messenger_1: {}\n  telegram: {}\n');
  assert.equal(problem?.line, 3);
  const [unknown] = problemsOf('platforms:\n  messenger_1: { extra: { bas_url: x } }\n');
  assert.equal(unknown?.key, 'platforms.messenger_1.extra.bas_url');
  assert.match(unknown?.help ?? '', /base_url/);
});

test('a required key of a platform is missed only when the platform is enabled', () => {
  load('platforms: { sms: { enabled: false } }');
  const [problem] = problemsOf('platforms: { sms: { enabled: true } }');
  assert.equal(problem?.key, 'platforms.sms.extra.account_sid');
});

test('secrets are listed wherever they stand, also inside URLs, and the word for no secret is none', () => {
  const { secrets } = load(
    [
      'model: { api_key: key-123 }',
      'database: { url: "postgres://u:pw%21x@db/svc" }',
      'platforms:',
      '  telegram: { token: "123:abc", extra: { api_hash: hash-9 } }',
      '  webhook: { extra: { secret: [old-one, new-one], routes: { a: { secret: route-secret }, b: { secret: INSECURE_NO_AUTH } } } }',
      'mcp_servers: { x: { command: y, env: { TOKEN: mcp-token } } }',
    ].join('\n'),
  );
  const expected = [
    'key-123',
    'pw!x',
    'pw%21x',
    '123:abc',
    'hash-9',
    'old-one',
    'new-one',
    'route-secret',
    'mcp-token',
  ];
  for (const secret of expected) assert.ok(secrets.includes(secret), secret);
  assert.ok(!secrets.includes('INSECURE_NO_AUTH'));
});

test('a time zone that does not exist, an empty secret and an unknown scheme are problems', () => {
  const problems = problemsOf('timezone: Mars/X\nplatforms: { webhook: { extra: { secret: "" } } }\n');
  assert.deepEqual(
    problems.map(({ key }) => key),
    ['timezone', 'platforms.webhook.extra.secret'],
  );
  assert.match(problems[0]?.help ?? '', /Europe\/Berlin/);
  const scheme = (name: string) => `platforms: { webhook: { extra: { routes: { a: { scheme: ${name} } } } } }`;
  assert.equal(load(scheme('hosta')).config.platforms.webhook.extra.routes.a?.scheme, 'hosta');
  assert.match(problemsOf(scheme('hostc'))[0]?.help ?? '', /`hostb`/);
});

test('no problem repeats a secret value', () => {
  const problems = problemsOf('model: { api_key: { nested: hunter2 } }\nplatforms: { telegram: { token: [hunter2] } }');
  assert.ok(!JSON.stringify(problems).includes('hunter2'));
});

test('an unreadable settings file is one error that says what to do', async () => {
  const home = join(folder, 'unreadable');
  mkdirSync(join(home, 'config.yaml'), { recursive: true });
  await assert.rejects(
    loadConfig({ home, env: {} }),
    (error) => error instanceof SvcError && error.code === 'home_unusable' && /SVC_HOME/.test(error.help ?? ''),
  );
});

test('loading reports all problems in one error', async () => {
  const home = join(folder, 'two-problems');
  mkdirSync(home);
  writeFileSync(join(home, 'config.yaml'), 'a: 1\nb: 2\n');
  chmodSync(join(home, 'config.yaml'), 0o600);
  await assert.rejects(loadConfig({ home, env: {} }), (error) => {
    assert.ok(error instanceof SvcError);
    assert.equal(error.code, 'config_invalid');
    assert.match(error.message, /2 problems/);
    assert.match(error.message, /config\.yaml:1 {2}a/);
    assert.match(error.message, /config\.yaml:2 {2}b/);
    return true;
  });
});
