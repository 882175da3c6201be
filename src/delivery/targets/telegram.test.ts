import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TelegramServer } from 'telegram-test-api/lib/telegramServer.js';
import { freePort } from '../../../test/support/free-port.ts';
import { startHttpDouble } from '../../../test/support/http-double.ts';
import { textAt } from '../judge.ts';
import { attempt, openBench, testHttpTarget } from '../target.contract.ts';
import { telegram } from './telegram.ts';

const TOKEN = '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw';
const platform = (url: string) => ({ enabled: true, token: TOKEN, extra: { base_url: url } });
const sent = { json: { ok: true, result: { message_id: 42, date: 1, chat: { id: -100123, type: 'supergroup' } } } };

testHttpTarget({
  target: telegram,
  platform,
  address: { target: 'telegram', chatId: '-100123', threadId: '17' },
  text: '**Build** `main` & [log](https://example.org/1)',
  request: {
    method: 'POST',
    path: `/bot${TOKEN}/sendMessage`,
    headers: { 'content-type': /^application\/json/ },
    json: {
      chat_id: '-100123',
      message_thread_id: 17,
      parse_mode: 'HTML',
      text: '<b>Build</b> <code>main</code> &amp; <a href="https://example.org/1">log</a>',
      link_preview_options: { is_disabled: true },
    },
  },
  success: sent,
  receipt: '42',
  refusal: {
    reply: { status: 400, json: { ok: false, error_code: 400, description: 'Bad Request: chat not found' } },
    words: /chat not found/,
  },
  rateLimit: {
    reply: {
      status: 429,
      json: {
        ok: false,
        error_code: 429,
        description: 'Too Many Requests: retry after 7',
        parameters: { retry_after: 7 },
      },
    },
    afterMs: 7000,
  },
  expired: {
    reply: { status: 401, json: { ok: false, error_code: 401, description: 'Unauthorized' } },
    words: /Unauthorized.*token/,
  },
  secrets: [TOKEN],
  check: {
    path: `/bot${TOKEN}/getMe`,
    reply: { json: { ok: true, result: { id: 1, is_bot: true, username: 'svc_bot' } } },
    who: 'svc_bot',
  },
  textOf: (request) => textAt(request.json, 'text') ?? '',
});

test('telegram sends to the chat itself when the topic is gone, and says so', async () => {
  await using double = await startHttpDouble((request) =>
    request.text.includes('message_thread_id')
      ? { status: 400, json: { ok: false, description: 'Bad Request: message thread not found' } }
      : sent,
  );
  await using bench = await openBench({ telegram: platform(double.url) });
  const outcome = await attempt(bench.delivery, {
    address: { target: 'messenger_1', chatId: '5', threadId: '9' },
    text: 'hi',
  });
  assert.ok(outcome.kind === 'delivered');
  assert.match(outcome.note ?? '', /Topic 9 is gone/);
});

test('telegram gets plain text when it cannot read the markup', async () => {
  await using double = await startHttpDouble((request) =>
    request.text.includes('parse_mode')
      ? { status: 400, json: { ok: false, description: "Bad Request: can't parse entities: unclosed tag" } }
      : sent,
  );
  await using bench = await openBench({ telegram: platform(double.url) });
  const outcome = await attempt(bench.delivery, { address: { target: 'telegram', chatId: '5' }, text: '**hi** <b' });
  assert.equal(outcome.kind, 'delivered');
  assert.equal(textAt(double.requests[1]?.json, 'text'), 'hi <b');
});

test('the home channel and its topic are used when the address names no chat', async () => {
  await using double = await startHttpDouble(() => sent);
  const home = { ...platform(double.url), home_channel: { chat_id: -1009, thread_id: 3 } };
  await using bench = await openBench({ telegram: home });
  await attempt(bench.delivery, { address: { target: 'telegram' }, text: 'hi' });
  await attempt(bench.delivery, { address: { target: 'telegram', chatId: '77' }, text: 'hi' });
  assert.equal(textAt(double.requests[0]?.json, 'chat_id'), '-1009');
  assert.equal(textAt(double.requests[0]?.json, 'message_thread_id'), '3');
  assert.equal(textAt(double.requests[1]?.json, 'chat_id'), '77');
  assert.equal(textAt(double.requests[1]?.json, 'message_thread_id'), undefined);
});

test('a chat id that is missing, left as a placeholder or no chat id at all is refused', async () => {
  await using bench = await openBench({ telegram: platform('http://127.0.0.1:1') });
  const problem = (chatId?: string) =>
    bench.delivery.problem({ target: 'telegram', ...(chatId ? { chatId } : {}) }) ?? '';
  assert.match(problem(), /no home channel/);
  assert.match(problem('{chat.id}'), /placeholder \{chat\.id\}/);
  assert.match(problem('../getMe'), /not a chat id/);
});

test('telegram is understood by a double that others wrote', async () => {
  const server = new TelegramServer({ port: await freePort(), host: '127.0.0.1' });
  await server.start();
  await using bench = await openBench({ telegram: platform(server.config.apiURL) });
  const outcome = await attempt(bench.delivery, { address: { target: 'telegram', chatId: '1' }, text: '**hi** there' });
  const who = await bench.delivery.check(telegram, new AbortController().signal);
  const client = server.getClient(TOKEN);
  const updates = await client.getUpdates();
  await server.stop();
  assert.equal(outcome.kind, 'delivered');
  assert.deepEqual(who, { kind: 'sent', receipt: 'TestNameBot' });
  assert.equal(textAt(updates, 'result.0.message.text'), '<b>hi</b> there');
  assert.equal(textAt(updates, 'result.0.message.chat_id'), '1');
});
