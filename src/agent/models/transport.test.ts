// Remote servers are reached through the proxy of the environment, local ones never are.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { startModelServer } from '../../../test/support/model-server.ts';
import { configSchema } from '../../config/schema.ts';
import { createModels } from '../models.ts';

async function startProxy(t: TestContext, target: number): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const proxy = createServer((incoming, response) => {
    const { host, pathname: path } = new URL(incoming.url ?? '');
    asked.push(host);
    const onward = request({
      host: '127.0.0.1',
      port: target,
      method: incoming.method,
      path,
      headers: incoming.headers,
    });
    onward.on('response', (reply) => {
      response.writeHead(reply.statusCode ?? 500, reply.headers);
      reply.pipe(response);
    });
    incoming.pipe(onward);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, asked };
}

async function answerFrom(t: TestContext, base_url: string, env: Record<string, string>): Promise<string> {
  const model = { base_url, name: 'm', context_length: 4096 };
  const models = createModels({ config: configSchema.parse({ model }), env, retryDelaysMs: [] });
  t.after(() => models.close());
  const signal = new AbortController().signal;
  const messages = [{ role: 'user' as const, content: 'Hello' }];
  const reply = await models.modelFor().complete({ system: '', messages, tools: [], signal });
  return reply.kind === 'message' ? reply.text : JSON.stringify(reply);
}

test('a remote server is reached through the proxy', async (t) => {
  const server = await startModelServer([{ text: 'through' }]);
  t.after(() => server.close());
  const proxy = await startProxy(t, server.port);
  assert.equal(await answerFrom(t, 'http://models.example.invalid', { HTTP_PROXY: proxy.url }), 'through');
  assert.deepEqual(proxy.asked, ['models.example.invalid']);
});

test('a local server is reached directly, whatever proxy is set', async (t) => {
  const server = await startModelServer([{ text: 'direct' }]);
  t.after(() => server.close());
  const proxy = await startProxy(t, 1);
  assert.equal(await answerFrom(t, server.url, { HTTP_PROXY: proxy.url, http_proxy: proxy.url }), 'direct');
  assert.deepEqual(proxy.asked, []);
});
