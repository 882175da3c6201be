// Contract: "Delivery targets" and "Direct delivery mode".

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startHttpDouble } from '../support/http-double.ts';
import { startModelServer } from '../support/model-server.ts';
import { tempFolder } from '../support/temp-folder.ts';

let gateway: TestGateway;
let telegram: Awaited<ReturnType<typeof startHttpDouble>>;
let model: Awaited<ReturnType<typeof startModelServer>>;
let answer = 'The answer.';
let telegramStatus: number | 'silent' = 200;
const home = tempFolder();
const ghLog = join(home, 'gh.log');

before(async () => {
  telegram = await startHttpDouble(() => {
    if (telegramStatus === 'silent') return { silent: true };
    if (telegramStatus === 200) return { json: { ok: true, result: { message_id: 5 } } };
    return { status: telegramStatus, json: { ok: false, description: 'no' } };
  });
  model = await startModelServer(() => ({ text: answer }));
  const bin = join(home, 'bin');
  mkdirSync(bin);
  // The client as the gateway meets it: a program on PATH that is called with arguments.
  writeFileSync(
    join(bin, 'gh'),
    `#!/bin/sh\nprintf '%s\\n' "$@" >> ${ghLog}\ncat >> ${ghLog}\necho https://example.org/c/1\n`,
  );
  chmodSync(join(bin, 'gh'), 0o700);
  const chat = { chat_id: '{chat}', message_thread_id: '{topic}' };
  gateway = await startTestGateway({
    home,
    env: { PATH: `${bin}:${process.env.PATH}` },
    routes: {
      chat: { deliver: 'messenger_1', deliver_extra: { chat_id: '{chat}' } },
      topic: { deliver: 'telegram', deliver_extra: chat },
      home: { deliver: 'telegram' },
      comment: { deliver: 'hosta_comment', deliver_extra: { repo: '{repository.full_name}', pr_number: '{number}' } },
      disabled: { deliver: 'discord', deliver_extra: { chat_id: '123456789012345678' } },
      direct: { deliver_only: true, deliver: 'telegram', prompt: '{text}\n{__raw__}', skills: ['none'] },
      direct_chat: { deliver_only: true, deliver: 'telegram', deliver_extra: { chat_id: '{chat}' }, prompt: '{text}' },
    },
    extra: { rate_limit: 1000 },
    config: {
      model: { provider: 'openai-compatible', base_url: model.url, name: 'test' },
      platforms: {
        messenger_1: {
          enabled: true,
          token: '1:abc',
          home_channel: { chat_id: '99' },
          extra: { base_url: telegram.url },
        },
      },
    },
  });
});
after(async () => {
  await gateway[Symbol.asyncDispose]();
  await telegram[Symbol.asyncDispose]();
  await model.close();
});

const lastMessage = () => telegram.requests.at(-1)?.json as Record<string, unknown>;

test('chat_id selects the chat; without it the home channel is used', async () => {
  await gateway.send('chat', { body: { chat: 42 } });
  assert.equal((await gateway.endedRun('chat')).state, 'delivered');
  assert.deepEqual([lastMessage().chat_id, lastMessage().text], ['42', 'The answer.']);
  await gateway.send('home');
  assert.equal((await gateway.endedRun('home')).state, 'delivered');
  assert.equal(lastMessage().chat_id, '99');
});

test('message_thread_id selects a forum topic', async () => {
  await gateway.send('topic', { body: { chat: -100, topic: 17 } });
  assert.equal((await gateway.endedRun('topic')).state, 'delivered');
  assert.deepEqual([lastMessage().chat_id, lastMessage().message_thread_id], ['-100', 17]);
});

test('hosta_comment posts with the command-line client to repo and pr_number', async () => {
  await gateway.send('comment', { body: { repository: { full_name: 'o/r' }, number: 7 } });
  const run = await gateway.endedRun('comment');
  assert.equal(run.state, 'delivered', run.error);
  const called = readFileSync(ghLog, 'utf8');
  assert.match(called, /repos\/o\/r\/issues\/7\/comments/);
  assert.match(called, /The answer\./);
});

test('a payload cannot smuggle arguments into the client: such a delivery is refused and no process is started', async () => {
  writeFileSync(ghLog, '');
  const bad: [unknown, unknown][] = [
    ['--help', 1],
    ['o/r;id', 1],
    ['../x', 1],
    ['o/r', '1 --body-file /etc/passwd'],
    ['o/r', '1e9'],
    ['o/r', -1],
    ['o/r', '{number}'],
  ];
  for (const [full_name, number] of bad) {
    await gateway.send('comment', { body: { repository: { full_name }, number } });
    assert.equal((await gateway.endedRun('comment')).state, 'dead', `${full_name} ${number}`);
  }
  assert.equal(readFileSync(ghLog, 'utf8'), '');
});

test('the target platform must be enabled: the start warns, and the answer is kept as undeliverable', async () => {
  assert.ok(gateway.logs().some((line) => line.level === 'warn' && String(line.key).endsWith('routes.disabled')));
  await gateway.send('disabled');
  assert.equal((await gateway.endedRun('disabled')).state, 'dead');
});

test('a placeholder that found nothing is not sent as a chat id', async () => {
  const sent = telegram.requests.length;
  await gateway.send('chat', { body: {} });
  const run = await gateway.endedRun('chat');
  assert.equal(run.state, 'dead');
  assert.match(run.deliveries[0]?.lastError ?? '', /\{chat\}/);
  assert.equal((await gateway.send('direct_chat', { body: { text: 'x' } })).status, 502);
  assert.equal(telegram.requests.length, sent);
});

test('an answer that is only a skip marker is still delivered', async () => {
  answer = '[SILENT]';
  await gateway.send('home');
  assert.equal((await gateway.endedRun('home')).state, 'delivered');
  assert.equal(lastMessage().text, '[SILENT]');
  answer = 'The answer.';
});

test('direct: the rendered prompt is the message, no model is asked, skills are ignored', async () => {
  const asked = model.requests.length;
  const { status, json } = await gateway.send('direct', { id: 'd1', body: { text: 'Hi' } });
  assert.equal(status, 200);
  assert.deepEqual(json, { status: 'delivered', route: 'direct', target: 'telegram', delivery_id: 'd1' });
  assert.match(String(lastMessage().text), /^Hi\n/);
  assert.equal(model.requests.length, asked);
});

test('direct: signature, size limit and idempotency hold', async () => {
  assert.equal((await gateway.send('direct', { secret: 'wrong' })).status, 401);
  assert.equal((await gateway.send('direct', { raw: ' '.repeat(1_048_577) })).status, 413);
  assert.equal((await gateway.send('direct', { id: 'd1', body: { text: 'Hi' } })).json.status, 'duplicate');
});

test('direct: a failure is 502 and gives the id back, so that the retry is tried again', async () => {
  telegramStatus = 400;
  assert.equal((await gateway.send('direct', { id: 'retry' })).status, 502);
  telegramStatus = 500;
  assert.equal((await gateway.send('direct', { id: 'retry' })).status, 502);
  telegramStatus = 200;
  assert.equal((await gateway.send('direct', { id: 'retry' })).json.status, 'delivered');
  assert.equal((await gateway.send('direct', { id: 'retry' })).json.status, 'duplicate');
  const verdicts = (await gateway.events('direct'))
    .filter((event) => event.deliveryId === 'retry')
    .map((e) => e.verdict);
  assert.deepEqual(verdicts, ['delivered', 'failed', 'failed']);
});

test('direct: a target that never answers is 502, and the retry is tried again', async () => {
  telegramStatus = 'silent';
  assert.equal((await gateway.send('direct', { id: 'mute' })).status, 502);
  telegramStatus = 200;
  assert.equal((await gateway.send('direct', { id: 'mute' })).json.status, 'delivered');
  const events = (await gateway.events('direct')).filter((event) => event.deliveryId === 'mute');
  assert.deepEqual(
    events.map(({ verdict }) => verdict),
    ['delivered', 'unknown'],
  );
});

test('direct: 100 copies at once make one message', async () => {
  const sent = telegram.requests.length;
  const replies = await Promise.all(Array.from({ length: 100 }, () => gateway.send('direct', { id: 'burst' })));
  assert.equal(replies.filter((reply) => reply.json.status === 'delivered').length, 1);
  assert.equal(telegram.requests.length, sent + 1);
});
