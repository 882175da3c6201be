import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { SvcError } from '../core/errors.ts';
import { silentLog } from '../core/log.ts';
import { type HttpOptions, refuse, startHttpServer } from './server.ts';

const never = new AbortController().signal;
const cleanups: (() => Promise<void>)[] = [];
after(() => Promise.all(cleanups.map((cleanup) => cleanup())));

async function start(options: Partial<HttpOptions> = {}) {
  const http = await startHttpServer({ host: '127.0.0.1', port: 0, log: silentLog, routes: [], ...options });
  cleanups.push(() => http.stop(AbortSignal.timeout(100)));
  return http;
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Everything the server says until it closes the connection. */
async function exchange(port: number, text: string): Promise<string> {
  const socket = await open(port);
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk.toString();
  });
  socket.write(text);
  await once(socket, 'close');
  return answer;
}

test('GET /health answers 200 with exactly the two fields of the contract', async () => {
  const { url } = await start();
  const answer = await fetch(`${url}/health`);
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  assert.deepEqual(await answer.json(), { status: 'ok', platform: 'webhook' });
});

test('unknown paths, wrong methods and paths that cannot be decoded are JSON errors', async () => {
  const { url, port } = await start();
  const unknown = await fetch(`${url}/nothing?x=1`);
  assert.deepEqual([unknown.status, await unknown.json()], [404, { error: 'Not found' }]);
  const wrong = await fetch(`${url}/health`, { method: 'DELETE' });
  assert.deepEqual(
    [wrong.status, wrong.headers.get('allow'), await wrong.json()],
    [405, 'GET, HEAD', { error: 'Method not allowed' }],
  );
  const broken = await exchange(port, 'GET /%ff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  assert.match(broken, /^HTTP\/1\.1 40[04] /);
  assert.match(broken, /\{"error":/);
  assert.equal((await fetch(`${url}/metrics`)).status, 404);
});

test('/metrics tells the version, stored work by state, answered requests and memory', async () => {
  const { url } = await start({
    metrics: { version: '9.9.9', counts: async () => ({ runs: { queued: 3 }, deliveries: {} }) },
  });
  await fetch(`${url}/health`);
  await fetch(`${url}/no/such/page`);
  const answer = await fetch(`${url}/metrics`);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/plain/);
  const text = await answer.text();
  assert.match(text, /^svc_info\{version="9\.9\.9"\} 1$/m);
  assert.match(text, /^svc_work\{kind="runs",state="queued"\} 3$/m);
  assert.match(text, /^svc_http_requests_total\{route="\/health",method="GET",status="200"\} 1$/m);
  assert.match(text, /^svc_http_requests_total\{route="none",method="any",status="404"\} 1$/m);
  const behindProxy = await fetch(`${url}/metrics`, { headers: { 'x-forwarded-for': '203.0.113.7' } });
  assert.equal(behindProxy.status, 403);
  assert.match(text, /^process_resident_memory_bytes \d+$/m);
});

test('a handler that throws answers 500 without the reason, and the reason is logged', async () => {
  const logged: unknown[] = [];
  const log = { ...silentLog, error: (message: string, fields?: object) => void logged.push({ message, ...fields }) };
  const { url } = await start({
    log,
    routes: [(server) => server.get('/broken', async () => Promise.reject(new Error('hunter2 is not the password')))],
  });
  const answer = await fetch(`${url}/broken`);
  assert.deepEqual([answer.status, await answer.json()], [500, { error: 'Internal error' }]);
  assert.match(JSON.stringify(logged), /hunter2/);
});

test('malformed requests, two Host headers and too large headers are refused with JSON', async () => {
  const { port } = await start();
  const cases: [text: string, status: RegExp][] = [
    ['NONSENSE\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['GET /health HTTP/1.1\r\nConnection: close\r\n\r\n', /^HTTP\/1\.1 400 /],
    [`GET /health HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`, /^HTTP\/1\.1 431 /],
    [
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      /^HTTP\/1\.1 400 /,
    ],
  ];
  for (const [text, status] of cases) {
    const answer = await exchange(port, text);
    assert.match(answer, status);
    assert.match(answer, /\{"error":"/, text.slice(0, 40));
  }
});

test('a request refused by its head gets no 100 Continue and its connection ends', async () => {
  const { port } = await start({
    routes: [(server) => server.all('/big', async (_request, reply) => refuse(reply, 413, 'Payload too large'))],
  });
  const head = 'POST /big HTTP/1.1\r\nHost: a\r\nContent-Length: 99000000\r\n';
  for (const text of [`${head}Expect: 100-continue\r\n\r\n`, `${head}\r\n`]) {
    const answer = await exchange(port, text);
    assert.match(answer, /^HTTP\/1\.1 413 /);
    assert.doesNotMatch(answer, /100 Continue/);
    assert.match(answer, /\{"error":"Payload too large"\}$/);
  }
});

test('a route gets every method and content type, with the body unread', async () => {
  const { url } = await start({
    routes: [
      (server) =>
        server.all('/echo', async (request) => {
          const chunks: Buffer[] = [];
          for await (const chunk of request.raw) chunks.push(chunk);
          return { method: request.method, body: Buffer.concat(chunks).toString('latin1') };
        }),
    ],
  });
  const types = [undefined, 'application/json', 'not a type', 'text/plain; charset=no-such', ''];
  for (const type of types) {
    const body = Buffer.from([0, 255, 123]);
    const answer = await fetch(`${url}/echo`, {
      method: 'POST',
      body,
      headers: type === undefined ? {} : { 'content-type': type },
    });
    assert.deepEqual(await answer.json(), { method: 'POST', body: '\x00\xff{' }, String(type));
  }
  assert.deepEqual(await (await fetch(`${url}/echo`, { method: 'PROPFIND' })).json(), { method: 'PROPFIND', body: '' });
});

test('a port in use is told with the setting that changes it', async () => {
  const { port } = await start();
  await assert.rejects(start({ port }), (error) => {
    assert.ok(error instanceof SvcError);
    assert.equal(error.code, 'port_in_use');
    assert.match(error.help ?? '', /platforms\.webhook\.extra\.port/);
    return true;
  });
});

test('beyond the connection cap the oldest idle connection makes room for the new one', async () => {
  const { port, url } = await start({ maxConnections: 2 });
  const first = await open(port);
  const closed = once(first, 'close');
  await delay(20);
  const second = await open(port);
  await delay(20);
  const third = await open(port);
  await closed;
  assert.equal(second.destroyed, false);
  assert.equal((await fetch(`${url}/health`)).status, 200);
  third.destroy();
  second.destroy();
});

test('stopping refuses new requests, waits for those under way, and cuts them when the time is over', async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const routes: HttpOptions['routes'] = [
    (server) => {
      server.get('/slow', async () => held.then(() => ({ done: true })));
      server.get('/stuck', () => new Promise(() => {}));
    },
  ];
  const polite = await start({ routes });
  const slow = fetch(`${polite.url}/slow`);
  await delay(50);
  const stopped = polite.stop(never);
  await assert.rejects(fetch(`${polite.url}/health`));
  release();
  assert.deepEqual(await (await slow).json(), { done: true });
  await stopped;

  const rude = await start({ routes });
  const stuck = assert.rejects(fetch(`${rude.url}/stuck`));
  await delay(50);
  await rude.stop(AbortSignal.timeout(50));
  await stuck;
});
