// A silent local server is asked how it is: real servers on loopback, real sockets.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { chunk, DONE, type ScriptedReply, SSE_HEADERS, startModelServer } from '../../test/support/model-server.ts';
import { configSchema } from '../config/schema.ts';
import type { ModelReply } from './model.ts';
import { createModels } from './models.ts';

interface Asked {
  reply: ModelReply;
  notices: string[];
}

async function ask(t: TestContext, url: string, silenceMs: number): Promise<Asked> {
  const models = createModels({
    config: configSchema.parse({ model: { base_url: url, name: 'qwen', context_length: 4096 } }),
    env: {},
    retryDelaysMs: [],
    silenceMs,
  });
  t.after(() => models.close());
  const notices: string[] = [];
  const reply = await models.modelFor().complete({
    system: '',
    messages: [{ role: 'user', content: 'Hello' }],
    tools: [],
    signal: new AbortController().signal,
    onNotice: (text) => notices.push(text),
  });
  return { reply, notices };
}

const afterSilence = (ms: number): ScriptedReply => ({
  raw: async (response) => {
    response.writeHead(200, SSE_HEADERS);
    response.flushHeaders();
    await sleep(ms, undefined, { ref: false });
    response.write(chunk({ content: 'at last' }, 'stop') + DONE);
  },
});

test('a busy server is shown as what it does, once per state, and waited for', async (t) => {
  const slots = [
    { is_processing: true, n_prompt_tokens: 100, n_prompt_tokens_processed: 50, next_token: [{ n_decoded: 0 }] },
    { is_processing: true, n_prompt_tokens: 100, n_prompt_tokens_processed: 50, next_token: [{ n_decoded: 0 }] },
    { is_processing: true, next_token: [{ n_decoded: 1 }] },
  ];
  let asked = 0;
  const routes = { '/slots': () => ({ status: 200, body: [slots[Math.min(asked++, 2)]] }) };
  const server = await startModelServer([afterSilence(800)], { routes });
  t.after(() => server.close());
  const { reply, notices } = await ask(t, server.url, 50);
  assert.equal(reply.kind === 'message' && reply.text, 'at last');
  assert.deepEqual(notices, ['The server is reading the prompt (50 %).', 'The server is generating.']);
});

for (const [kind, routes, expected] of [
  ['Ollama', { '/api/ps': () => ({ status: 200, body: { models: [] } }) }, 'The server is loading the model.'],
  [
    'LM Studio',
    { '/api/v0/models': () => ({ status: 200, body: { data: [{ id: 'qwen', state: 'not-loaded' }] } }) },
    'The server is loading the model.',
  ],
  [
    'a server with a health page',
    { '/health': () => ({ status: 200, body: { status: 'ok' } }) },
    'The server is working.',
  ],
] as const) {
  test(`${kind} is understood`, async (t) => {
    const server = await startModelServer([afterSilence(300)], { routes });
    t.after(() => server.close());
    const { reply, notices } = await ask(t, server.url, 40);
    assert.equal(reply.kind, 'message');
    assert.deepEqual(notices, [expected]);
  });
}

test('a server that takes no connections any more ends the call in moments, although the socket is still open', async (t) => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.once('data', () => {
      // The answer begins, and then the listening side disappears while this connection hangs.
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n');
      server.close();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as { port: number };
  const { reply } = await ask(t, `http://127.0.0.1:${port}`, 50);
  assert.equal(reply.kind, 'failed');
  assert.match(reply.kind === 'failed' ? reply.reason : '', /is gone: it takes no connections/);
  assert.equal(reply.kind === 'failed' && reply.transient, true);
});

test('a server that says it has nothing to do has lost the request', async (t) => {
  const routes = { '/slots': () => ({ status: 200, body: [{ id: 0, is_processing: false }] }) };
  const server = await startModelServer([afterSilence(30_000)], { routes });
  t.after(() => server.close());
  const { reply } = await ask(t, server.url, 40);
  assert.match(reply.kind === 'failed' ? reply.reason : '', /lost this request/);
});

test('a server too busy to say how it is stays alive', async (t) => {
  const server = await startModelServer([afterSilence(500)], {
    routes: { '/slots': () => ({ status: 500, body: {} }) },
  });
  t.after(() => server.close());
  const { reply } = await ask(t, server.url, 40);
  assert.equal(reply.kind === 'message' && reply.text, 'at last');
});
