import assert from 'node:assert/strict';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { startHttpDouble } from '../../test/support/http-double.ts';
import { makeCertificate, noCertificates } from '../../test/support/localhost-certificate.ts';
import { createHttpCaller } from './fetch-json.ts';

const http = createHttpCaller();
test.after(() => http.close());

test('an answer comes with its status, headers and JSON', async () => {
  await using double = await startHttpDouble(() => ({ status: 201, headers: { 'x-a': 'b' }, json: { id: 1 } }));
  const reply = await http.call({ method: 'POST', url: `${double.url}/p?q=1`, json: { a: 'ü' }, timeoutMs: 5000 });
  assert.ok(reply.kind === 'answer');
  assert.deepEqual([reply.status, reply.json, reply.header('X-A')], [201, { id: 1 }, 'b']);
  assert.deepEqual(double.requests[0]?.json, { a: 'ü' });
  assert.equal(double.requests[0]?.path, '/p?q=1');
});

test('a redirect is an answer and is not followed', async () => {
  await using double = await startHttpDouble(() => ({ status: 307, headers: { location: '/elsewhere' } }));
  const reply = await http.call({ method: 'POST', url: double.url, body: 'x', timeoutMs: 5000 });
  assert.ok(reply.kind === 'answer' && reply.status === 307);
  assert.equal(double.requests.length, 1);
});

test('an answer without end costs one mebibyte and no more', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n');
    const pour = () => {
      while (!socket.destroyed && socket.write('x'.repeat(65_536))) {}
    };
    socket.on('drain', pour);
    pour();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const reply = await http.call({ method: 'GET', url: `http://127.0.0.1:${port}/`, timeoutMs: 30_000 });
  server.close();
  assert.ok(reply.kind === 'answer');
  assert.equal(reply.text.length, 1024 * 1024);
});

test('whether the request can have arrived is part of the value', async () => {
  await using silent = await startHttpDouble(() => ({ silent: true }));
  const slow = await http.call({ method: 'GET', url: `${silent.url}/secret-path`, timeoutMs: 100 });
  assert.deepEqual(slow, { kind: 'no_answer', reason: 'no answer from 127.0.0.1 within 0.1 s' });
  const stopping = new AbortController();
  setTimeout(() => stopping.abort(), 50);
  const stopped = await http.call({ method: 'GET', url: silent.url, timeoutMs: 5000, signal: stopping.signal });
  assert.deepEqual(stopped, { kind: 'no_answer', reason: 'stopped while waiting for 127.0.0.1' });
  const url = silent.url;
  await silent[Symbol.asyncDispose]();
  const refused = await http.call({ method: 'GET', url, timeoutMs: 5000 });
  assert.ok(refused.kind === 'not_sent');
  assert.match(refused.reason, /ECONNREFUSED/);
  const nowhere = await http.call({ method: 'GET', url: 'http://name.invalid/', timeoutMs: 5000 });
  assert.equal(nowhere.kind, 'not_sent');
  const file = await http.call({ method: 'GET', url: 'file:///etc/passwd', timeoutMs: 5000 });
  assert.equal(file.kind, 'forbidden');
});

test('a connection that breaks after the request leaves it open', async () => {
  const server = createServer((socket) => socket.once('data', () => socket.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const reply = await http.call({ method: 'POST', url: `http://127.0.0.1:${port}/`, body: 'x', timeoutMs: 5000 });
  server.close();
  assert.equal(reply.kind, 'no_answer');
});

test('a certificate nobody vouches for ends the call before anything is sent', { skip: noCertificates }, async () => {
  let asked = 0;
  const server = createTlsServer(makeCertificate(), (_request, response) => {
    asked += 1;
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const reply = await http.call({ method: 'POST', url: `https://localhost:${port}/`, body: 'x', timeoutMs: 5000 });
  server.close();
  assert.ok(reply.kind === 'not_sent');
  assert.match(reply.reason, /certificate of localhost is not valid/);
  assert.equal(asked, 0);
});
