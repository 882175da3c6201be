import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { configSchema } from '../config/schema.ts';
import { browserAddress, chooseBackend } from './endpoint.ts';

const settings = (browser: Record<string, unknown>) => configSchema.parse({ browser }).browser;

test('a connected browser comes before a configured one, that before a hosted one, REST, and the Chromium of the machine', () => {
  const all = settings({
    cdp_url: '9222',
    hosted: { cdp_url: 'wss://h/x' },
    rest_url: 'http://r/',
    executable: '/bin/c',
  });
  assert.deepEqual(chooseBackend(all, '9333', '/usr/bin/c'), { kind: 'running', address: '9333' });
  assert.deepEqual(chooseBackend(all, undefined, '/usr/bin/c'), { kind: 'running', address: '9222' });
  assert.equal(chooseBackend({ ...all, cdp_url: undefined }, undefined, undefined).kind, 'hosted');
  assert.equal(chooseBackend(settings({ rest_url: 'http://r/' }), undefined, '/usr/bin/c').kind, 'rest');
  assert.deepEqual(chooseBackend(settings({}), undefined, '/usr/bin/c'), { kind: 'own', executable: '/usr/bin/c' });
  assert.equal(chooseBackend(settings({}), undefined, undefined).kind, 'none');
});

test('the address of a browser is asked for anew, and its host is the one that was given', async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end(JSON.stringify({ webSocketDebuggerUrl: 'ws://inside:9222/devtools/browser/new' }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const expected = `ws://127.0.0.1:${port}/devtools/browser/new`;
  for (const text of [
    String(port),
    `127.0.0.1:${port}`,
    `http://127.0.0.1:${port}/`,
    `ws://127.0.0.1:${port}/devtools/browser/old`,
  ]) {
    assert.equal(await browserAddress(text), expected, text);
  }
  assert.deepEqual(new Set(asked), new Set(['/json/version']));
  server.close();
});

test('a wss address is used as it is, and nonsense is refused with what would work', async () => {
  assert.equal(await browserAddress('wss://host/path?token=x'), 'wss://host/path?token=x');
  await assert.rejects(browserAddress('ftp://x'), /not the address of a browser/);
  await assert.rejects(browserAddress('http://127.0.0.1:1'), /No browser answers there: ECONNREFUSED/);
});
