import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { after, before, test } from 'node:test';
import { startHttpDouble } from '../../../test/support/http-double.ts';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import type { Address } from '../../core/address.ts';
import { enqueueDelivery } from '../../store/deliveries.ts';
import { openStore } from '../../store/open.ts';
import { claimDeliveries, endAttempt } from '../../store/outbox.ts';
import { runProgram } from '../program.ts';

const TOKEN = '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw';

interface Home {
  path: string;
  svc(
    args: string[],
    options?: { env?: NodeJS.ProcessEnv; input?: string },
  ): Promise<{ code: number; stdout: string; stderr: string }>;
}

/** The program inside this process, in a home of its own. */
function createHome(): Home {
  const path = tempFolder();
  return {
    path,
    async svc(args, { env = {}, input = '' } = {}) {
      const written = { stdout: '', stderr: '' };
      const into = (name: 'stdout' | 'stderr') =>
        new Writable({
          write: (text, _encoding, done) => {
            written[name] += String(text);
            done();
          },
        }) as NodeJS.WriteStream;
      const stdin = Readable.from(input === '' ? [] : [input]) as NodeJS.ReadStream;
      const context = {
        env: { SVC_HOME: path, ...env },
        cwd: path,
        stdin,
        stdout: into('stdout'),
        stderr: into('stderr'),
      };
      return { code: await runProgram(args, context), ...written };
    },
  };
}

const home = createHome();
const double = await startHttpDouble(({ path, text }) => {
  if (path.endsWith('/getMe')) return { json: { ok: true, result: { username: 'svc_bot' } } };
  if (text.includes('"chat_id":"404"'))
    return { status: 400, json: { ok: false, description: `chat not found ${TOKEN}` } };
  return { json: { ok: true, result: { message_id: 7 } } };
});

before(async () => {
  const settings = `
platforms:
  messenger_1:
    enabled: true
    token: "${TOKEN}"
    home_channel: { chat_id: 5, name: Ops }
    extra: { base_url: "${double.url}" }
`;
  await writeFile(join(home.path, 'config.yaml'), settings);
  const store = await openStore({ file: join(home.path, 'svc.db') }, { mode: 'inline' });
  const add = (id: string, address: Address) =>
    store.write(enqueueDelivery({ id, source: 'nightly', address, text: `text of ${id}`, createdAt: 1000 }));
  await add('dlv_a', { target: 'telegram', chatId: '1' });
  await add('dlv_b', { target: 'messenger_3', chatId: 'C1', threadId: '9' });
  const input = { owner: 'x', now: 2000, leaseMs: 1, limit: 1, resting: ['slack'], probed: [] };
  const [claimed] = await store.write(claimDeliveries(input));
  assert.ok(claimed);
  const ended = { id: 'dlv_a', fence: claimed.fence, attempts: 6, partsSent: 1, uncertain: true, at: 3000 };
  await store.write(endAttempt({ ...ended, state: 'dead', lastError: 'chat not found\u001b[2J' }));
  await store.close();
});
after(() => double[Symbol.asyncDispose]());

test('messages are listed with their state, place and reason, for people and for programs', async () => {
  const { stdout } = await home.svc(['deliveries', 'list']);
  assert.match(stdout, /dlv_a\s+dead\?\s+telegram:1\s+nightly/);
  assert.match(stdout, /dlv_b\s+waiting\s+messenger_3:C1:9/);
  assert.ok(!stdout.includes('\u001b'));
  const json = JSON.parse((await home.svc(['deliveries', 'list', '--state', 'dead', '--json'])).stdout);
  assert.equal(json.length, 1);
  assert.deepEqual([json[0].attempts, json[0].uncertain], [6, true]);
});

test('one message is shown with its text, and an unknown one is an error with the next step', async () => {
  const { stdout } = await home.svc(['deliveries', 'show', 'dlv_a']);
  assert.match(stdout, /text\s+text of dlv_a/);
  assert.match(stdout, /last error\s+chat not found/);
  const missing = await home.svc(['deliveries', 'show', 'dlv_zzz']);
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /svc deliveries list/);
});

test('dead messages can be sent again and given up', async () => {
  assert.equal((await home.svc(['deliveries', 'retry', '--dead'])).code, 0);
  const shown = async () => JSON.parse((await home.svc(['deliveries', 'show', 'dlv_a', '--json'])).stdout);
  assert.deepEqual([(await shown()).state, (await shown()).attempts], ['waiting', 0]);
  assert.equal((await home.svc(['deliveries', 'drop', 'dlv_a'])).code, 0);
  assert.equal((await shown()).state, 'dropped');
  const again = await home.svc(['deliveries', 'drop', 'dlv_a']);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /dropped and cannot be dropped/);
});

test('svc deliver sends at once and shows the receipt', async () => {
  const sent = await home.svc(['deliver', 'telegram', '**hi**']);
  assert.deepEqual([sent.code, sent.stdout], [0, 'Sent to telegram (7).\n']);
  const piped = await home.svc(['deliver', 'messenger_1:9:3,local', '-', '--json'], { input: 'from a pipe' });
  const [first, second] = JSON.parse(piped.stdout);
  assert.deepEqual([first.to, first.outcome, second.outcome], ['messenger_1:9:3', 'delivered', 'delivered']);
  assert.equal(await readFile(second.receipt, 'utf8'), 'from a pipe\n');
  assert.match(double.requests.at(-1)?.text ?? '', /"message_thread_id":3/);
});

test('svc deliver says what is wrong, suggests the nearest name and never shows the token', async () => {
  const typo = await home.svc(['deliver', 'telegarm', 'hi']);
  assert.equal(typo.code, 1);
  assert.match(typo.stderr, /Did you mean telegram\?/);
  assert.match((await home.svc(['deliver', 'slack', 'hi'])).stderr, /slack is not enabled/);
  assert.match((await home.svc(['deliver', 'telegram:{chat.id}', 'hi'])).stderr, /placeholder \{chat\.id\}/);
  assert.match((await home.svc(['deliver', 'telegram', ' '])).stderr, /text is empty/);
  assert.match((await home.svc(['deliver', 'telegram', '-'], { input: 'x'.repeat(1024 * 1024) })).stderr, /too long/);
  assert.match((await home.svc(['deliver', 'origin', 'hi'])).stderr, /Name a target/);
  const refused = await home.svc(['deliver', 'telegram:404', 'hi']);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /chat not found \*\*\*/);
  assert.ok(!refused.stderr.includes(TOKEN));
});

test('svc platforms lists every target, and check asks those that are enabled', async () => {
  const listed = JSON.parse((await home.svc(['platforms', 'list', '--json'])).stdout) as {
    name: string;
    enabled: boolean;
  }[];
  assert.equal(listed.length, 23);
  assert.deepEqual(
    listed.filter(({ enabled }) => enabled).map(({ name }) => name),
    ['log', 'local', 'github_comment', 'telegram'],
  );
  const checked = await home.svc(['platforms', 'check']);
  assert.equal(checked.code, 0);
  assert.match(checked.stdout, /messenger_1\s+yes\s+Ops \(5\)\s+svc_bot/);
  const unknown = await home.svc(['platforms', 'check', 'telegarm']);
  assert.match(unknown.stderr, /Did you mean telegram\?/);
});

test('svc platforms setup without a terminal takes what the environment has and names what is missing', async () => {
  const fresh = createHome();
  const missing = await fresh.svc(['platforms', 'setup', 'sms'], { env: { TWILIO_AUTH_TOKEN: 'secret-token' } });
  assert.equal(missing.code, 2);
  assert.match(missing.stderr, /TWILIO_ACCOUNT_SID, TWILIO_PHONE_NUMBER/);
  const done = await fresh.svc(['platforms', 'setup', 'messenger_1'], { env: { TELEGRAM_BOT_TOKEN: TOKEN } });
  assert.equal(done.code, 0, done.stderr);
  assert.match(await readFile(join(fresh.path, 'config.yaml'), 'utf8'), /messenger_1:\n\s+enabled: true/);
});
