import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { chunk } from '../../../test/support/model-server.ts';
import { failed, KEY, silent, textOf, trial } from '../../../test/support/model-trial.ts';

const adder = { name: 'add', description: 'Adds.', input: z.object({ a: z.number(), b: z.number() }) };

test('a request carries model, messages and max_tokens, streams, and shows the text as it comes', async (t) => {
  const { server, ask, shown } = await trial(t, [{ text: 'Hello there, friend.' }]);
  const reply = await ask({ tools: [adder] });
  assert.deepEqual(reply, {
    kind: 'message',
    text: 'Hello there, friend.',
    toolCalls: [],
    usage: { inputTokens: 10, outputTokens: 5 },
  });
  assert.deepEqual(shown, ['Hello', ' there,', ' friend.']);
  const { body, headers, path } = server.requests[0] ?? assert.fail();
  assert.equal(path, '/v1/chat/completions');
  assert.equal(body.model, 'scripted');
  assert.equal(body.max_tokens, 77);
  assert.equal(body.stream, true);
  assert.deepEqual(body.messages, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hello' },
  ]);
  assert.deepEqual(body.tools?.[0]?.function.parameters, {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  });
  assert.equal(headers.authorization, `Bearer ${KEY}`);
});

for (const ending of ['', '/', '/v1', '/v1/', '/v1/chat/completions']) {
  test(`the base URL works with the ending "${ending}"`, async (t) => {
    const { ask, server } = await trial(t, [{ text: 'ok' }], { baseUrl: ({ url }) => url + ending });
    assert.equal(textOf(await ask()), 'ok');
    assert.equal(server.requests[0]?.path, '/v1/chat/completions');
  });
}

test('a conversation with calls and results is sent back as the server expects it', async (t) => {
  const { ask, server } = await trial(t, [{ text: 'ok' }]);
  await ask({
    messages: [
      { role: 'user', content: 'one' },
      { role: 'user', content: 'two' },
      {
        role: 'assistant',
        content: '',
        toolCalls: [
          { id: 'c1', name: 'add', arguments: { a: 1, b: 2 } },
          { id: 'c2', name: 'add', rawArguments: '{"a": tru' },
        ],
      },
      { role: 'tool', callId: 'c1', name: 'add', content: '3', failed: false },
      { role: 'tool', callId: 'c2', name: 'add', content: 'not JSON', failed: true },
    ],
  });
  const { messages } = server.requests[0]?.body ?? assert.fail();
  assert.deepEqual(
    messages.map((message) => message.role),
    ['system', 'user', 'assistant', 'tool', 'tool'],
  );
  assert.equal(messages[1]?.content, 'one\n\ntwo');
  assert.deepEqual(messages[2]?.tool_calls, [
    { id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } },
    { id: 'c2', type: 'function', function: { name: 'add', arguments: '{}' } },
  ]);
  assert.deepEqual(
    messages.slice(3).map((message) => [message.tool_call_id, message.content]),
    [
      ['c1', '3'],
      ['c2', 'not JSON'],
    ],
  );
});

test('an interruption ends the call at once and closes the socket', async (t) => {
  const stop = new AbortController();
  const { ask, server } = await trial(t, [silent(chunk({ content: 'Hel' }))]);
  const reply = await ask({ signal: stop.signal, onText: () => setImmediate(() => stop.abort()) });
  assert.deepEqual(reply, { kind: 'aborted' });
  while (server.open > 0) await sleep(5);
});

test('the key appears in no label, notice or reason, even when the server repeats it', async (t) => {
  const { ask, model, notices } = await trial(t, [{ status: 500, body: `{"error":{"message":"bad key ${KEY}"}}` }]);
  const everything = JSON.stringify([await ask(), model.label, notices]);
  assert.ok(!everything.includes(KEY), everything);
  assert.match(everything, /bad key \*\*\*/);
});

test('without a model name the only model of the server is used; with several a person must choose', async (t) => {
  const one = await trial(t, [{ text: 'ok' }], { name: null, models: ['qwen'] });
  assert.equal(textOf(await one.ask()), 'ok');
  assert.equal(one.server.requests[0]?.body.model, 'qwen');
  const two = await trial(t, [{ text: 'ok' }], { name: null, models: ['qwen', 'gemma'] });
  const { reason, help } = failed(await two.ask());
  assert.match(reason, /has 2: qwen, gemma/);
  assert.match(help ?? '', /svc model/);
});

test('the size of the context is asked from the server', async (t) => {
  const routes = { '/props': () => ({ status: 200, body: { default_generation_settings: { n_ctx: 8192 } } }) };
  const { ask, model } = await trial(t, [{ text: 'ok' }], { routes });
  await ask();
  for (let i = 0; i < 200 && model.contextLength === undefined; i += 1) await sleep(10);
  assert.equal(model.contextLength, 8192);
});

test('a server that knows the size only once the model is loaded is asked again', async (t) => {
  let loaded = false;
  const models = () => (loaded ? [{ name: 'scripted:latest', context_length: 4096 }] : []);
  const routes = { '/api/ps': () => ({ status: 200, body: { models: models() } }) };
  const { ask, model } = await trial(t, [{ text: 'ok' }], { routes });
  await ask();
  await sleep(200);
  assert.equal(model.contextLength, undefined);
  loaded = true;
  await ask();
  for (let i = 0; i < 500 && model.contextLength === undefined; i += 1) await sleep(10);
  assert.equal(model.contextLength, 4096);
});
