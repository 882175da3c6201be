import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { type WebSocket, WebSocketServer } from 'ws';
import { SvcError } from '../../core/errors.ts';
import { CdpConnection } from './connection.ts';

let server: WebSocketServer;
let url: string;
before(async () => {
  server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const address = server.address();
  url = `ws://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/secret-token`;
});
after(() => server.close());

interface Line {
  connection: CdpConnection;
  far: WebSocket;
  events: unknown[][];
  closed: string[];
  /** The next message that the far side gets. */
  next(): Promise<{ id: number; method: string; params?: unknown; sessionId?: string }>;
}

async function connect(): Promise<Line> {
  const events: unknown[][] = [];
  const closed: string[] = [];
  const arrived = once(server, 'connection');
  const connection = await CdpConnection.open({
    url,
    onEvent: (...event) => events.push(event),
    onClose: (reason) => closed.push(reason),
  });
  const [far] = (await arrived) as [WebSocket];
  return { connection, far, events, closed, next: async () => JSON.parse(String((await once(far, 'message'))[0])) };
}

const withCode = (code: string, text: RegExp) => (error: unknown) =>
  error instanceof SvcError && error.code === code && text.test(error.message);

test('a call resolves with its reply and carries its session', async () => {
  const { connection, far, next } = await connect();
  const reply = connection.call('Runtime.evaluate', { expression: '1' }, { sessionId: 'S' });
  const message = await next();
  assert.deepEqual(message, {
    id: message.id,
    method: 'Runtime.evaluate',
    params: { expression: '1' },
    sessionId: 'S',
  });
  far.send(JSON.stringify({ id: message.id, result: { result: { type: 'number', value: 1 } } }));
  assert.equal((await reply).result.value, 1);
  connection.close();
});

test('what the browser refuses is a cdp_error with its words', async () => {
  const { connection, far, next } = await connect();
  const reply = connection.callAny('No.such');
  far.send(JSON.stringify({ id: (await next()).id, error: { code: -32601, message: "'No.such' wasn't found" } }));
  await assert.rejects(reply, withCode('cdp_error', /wasn't found \(-32601\)/));
  connection.close();
});

test('a call that is not answered ends with its deadline, and a late reply is dropped', async () => {
  const { connection, far, next } = await connect();
  const reply = connection.call('Browser.getVersion', undefined, { deadlineMs: 30 });
  const late = await next();
  await assert.rejects(reply, withCode('timeout', /Browser.getVersion got no answer within 0.03 s/));
  const second = connection.callAny('Browser.getVersion');
  const { id } = await next();
  far.send(JSON.stringify({ id: late.id, result: { product: 'late' } }));
  far.send(JSON.stringify({ id, result: { product: 'right' } }));
  assert.deepEqual(await second, { product: 'right' });
  connection.close();
});

test('calls on a lost session are rejected, others go on', async () => {
  const { connection, far, next } = await connect();
  const lost = connection.callAny('Page.enable', {}, { sessionId: 'gone', deadlineMs: 0 });
  await next();
  const kept = connection.callAny('Page.enable', {}, { sessionId: 'stays', deadlineMs: 0 });
  const { id } = await next();
  connection.rejectSessions(new Set(['gone']), 'its tab was closed');
  await assert.rejects(lost, withCode('cdp_error', /its tab was closed/));
  far.send(JSON.stringify({ id, result: {} }));
  assert.deepEqual(await kept, {});
  connection.close();
});

test('a broken connection rejects everything that waits and is told once', async () => {
  const { connection, far, closed } = await connect();
  const waiting = connection.callAny('Page.enable', {}, { deadlineMs: 0 });
  far.terminate();
  await assert.rejects(waiting, withCode('browser_gone', /ended/));
  await assert.rejects(connection.callAny('Page.enable'), withCode('browser_gone', /closed/));
  connection.close();
  assert.equal(closed.length, 1);
});

test('events come in order, and what is no message is ignored', async () => {
  const { connection, far, events } = await connect();
  for (const text of [
    '{',
    '[]',
    '"x"',
    '{"method":"A.one","params":{"n":1},"sessionId":"S"}',
    '{"id":77}',
    '{"method":"A.two"}',
  ])
    far.send(text);
  while (events.length < 2) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(events, [
    ['A.one', { n: 1 }, 'S'],
    ['A.two', undefined, undefined],
  ]);
  connection.close();
});

test('a failed connection never shows its address', async () => {
  const hidden = 'ws://127.0.0.1:1/devtools/browser/very-secret';
  await assert.rejects(
    CdpConnection.open({ url: hidden, onEvent: () => {}, onClose: () => {} }),
    (error) => error instanceof SvcError && error.code === 'browser_gone' && !error.message.includes('secret'),
  );
  await assert.rejects(
    CdpConnection.open({ url: 'not an address ws://x/secret', onEvent: () => {}, onClose: () => {} }),
    (error) => error instanceof SvcError && error.code === 'browser_gone' && !error.message.includes('secret'),
  );
});
