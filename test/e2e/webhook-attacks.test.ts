// What attackers and broken clients send, each with the answer it gets; after each the next good request is served.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { after, afterEach, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { hexHmac, SECRET, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { openSocket, rawRequest } from '../support/raw-http.ts';
import { until } from '../support/until.ts';

let gateway: TestGateway;
before(async () => {
  gateway = await startTestGateway({
    routes: {
      a: { prompt: '{title}' },
      open: { secret: 'INSECURE_NO_AUTH' },
      stripe: { scheme: 'stripe' },
      slack: { scheme: 'slack' },
      push: { events: ['push'] },
      guarded: { dedupe_body: true },
      raw: {},
    },
    extra: { rate_limit: 100_000 },
    config: { runs: { concurrency: 0 } },
  });
});
after(() => gateway[Symbol.asyncDispose]());
afterEach(async () => {
  const { status, json } = await gateway.send('a', { body: { title: 'still there' } });
  assert.deepEqual([status, json.status], [200, 'accepted'], 'the next good request is served');
  assert.equal((await gateway.newestRun('a')).prompt, 'still there');
});

const host = () => new URL(gateway.url).host;
const post = (headers: string[], body = '', route = 'a') =>
  [`POST /webhooks/${route} HTTP/1.1`, `Host: ${host()}`, ...headers, '', body].join('\r\n');
const signed = (body: string) => `X-Hub-Signature-256: sha256=${hexHmac(SECRET, body)}`;
const goodRequest = (body = '{}') => post([signed(body), `Content-Length: ${Buffer.byteLength(body)}`], body);

test('1: no signature header is refused before the body is read, and leaves no row', async () => {
  const rows = (await gateway.events()).length;
  const { statuses } = await rawRequest(gateway.url, post(['Content-Length: 1000000']));
  assert.deepEqual(statuses, [401]);
  assert.equal((await gateway.events()).length, rows);
});

test('2: thousands of wrong signatures cost no budget and few log lines', async () => {
  await using other = await startTestGateway({ routes: { a: {} }, config: { runs: { concurrency: 0 } } });
  for (let round = 0; round < 20; round++) {
    const replies = await Promise.all(Array.from({ length: 100 }, () => other.send('a', { secret: 'wrong' })));
    assert.ok(replies.every(({ status }) => status === 401));
  }
  for (let count = 0; count < 30; count++) assert.equal((await other.send('a', { id: `g${count}` })).status, 200);
  const lines = other.logs().filter((line) => line.message === 'Invalid signature');
  assert.ok(lines.length >= 1 && lines.length <= 60, `${lines.length} lines`);
  assert.ok(other.logs().some((line) => line.level === 'error' && /Nothing but invalid/.test(line.message)));
});

test('3, 6: malformed signatures and changed bytes are 401, never 500', async () => {
  const body = '{"a": 1}';
  const digest = hexHmac(SECRET, body);
  const values = [
    'sha256=',
    digest.slice(1),
    `sha256=${digest}0`,
    'sha256=zz',
    `sha1=${digest}`,
    `sha256=${'a'.repeat(8000)}`,
  ];
  values.push(`sha256=${Buffer.from(digest, 'hex').toString('base64')}`);
  for (const value of values) {
    const { status } = await gateway.send('a', { raw: body, secret: false, headers: { 'x-hub-signature-256': value } });
    assert.equal(status, 401, value.slice(0, 40));
  }
  for (const raw of ['{"a":1}', `\ufeff${body}`, `${body}\r\n`]) {
    const headers = { 'x-hub-signature-256': `sha256=${digest}` };
    assert.equal((await gateway.send('a', { raw, secret: false, headers })).status, 401);
  }
});

test('8: a route without a secret refuses pages and proxies on this machine, and serves a plain client', async () => {
  const ask = (headers: string[]) => rawRequest(gateway.url, post([...headers, 'Content-Length: 2'], '{}', 'open'));
  for (const headers of [
    ['Origin: https://evil.example'],
    ['Sec-Fetch-Site: cross-site'],
    ['X-Forwarded-For: 1.2.3.4'],
  ])
    assert.deepEqual((await ask(headers)).statuses, [403], headers[0]);
  const evilHost = 'POST /webhooks/open HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}';
  assert.deepEqual((await rawRequest(gateway.url, evilHost)).statuses, [403]);
  assert.deepEqual((await ask([])).statuses, [200]);
});

test('9: timestamped schemes take 299 s and refuse 301 s and anything that is not decimal seconds', async () => {
  const now = Math.floor(Date.now() / 1000);
  const send = (stamp: string) => {
    const proof = hexHmac(SECRET, `${stamp}.{}`);
    return gateway.send('stripe', {
      raw: '{}',
      secret: false,
      headers: { 'stripe-signature': `t=${stamp},v1=${proof}` },
    });
  };
  for (const offset of [-290, 0, 290]) assert.equal((await send(String(now + offset))).status, 200);
  for (const stamp of [now - 310, now + 310, '0x10', '1e3', '-1', '', '12345678901234567890'])
    assert.equal((await send(String(stamp))).status, 401, String(stamp));
});

test('10-13: ids and bodies that come again', async () => {
  const first = await gateway.send('a', { id: 'again', body: { title: 'x' } });
  assert.equal(first.json.status, 'accepted');
  assert.equal((await gateway.send('a', { id: 'again', body: { title: 'other' } })).json.status, 'duplicate');
  assert.ok(
    gateway.logs().some((line) => line.message.startsWith('delivery id reused') && line.delivery_id === 'again'),
  );
  assert.equal((await gateway.send('a', { id: 'captured', body: { title: 'x' } })).json.status, 'accepted');
  assert.equal((await gateway.send('guarded', { id: '1', body: { title: 'x' } })).json.status, 'accepted');
  assert.equal((await gateway.send('guarded', { id: '2', body: { title: 'x' } })).json.status, 'duplicate');
});

test('14: the event header is not signed: a renamed ping passes the filter, and the prompt stays fenced data', async () => {
  assert.equal((await gateway.send('push', { event: 'push', body: { zen: 'x' } })).json.status, 'accepted');
  assert.equal((await gateway.newestRun('push')).settings.untrusted, true);
});

test('18: a declared length beyond the limit is 413 before a byte of the body, and no 100 Continue', async () => {
  for (const expect of [[], ['Expect: 100-continue']]) {
    const answer = await rawRequest(gateway.url, post([signed('x'), 'Content-Length: 1048577', ...expect]));
    assert.deepEqual(answer.statuses, [413]);
    assert.match(answer.text, /connection: close/i);
  }
  const polite = httpRequest(`${gateway.url}/webhooks/a`, {
    method: 'POST',
    headers: { expect: '100-continue', 'x-hub-signature-256': `sha256=${hexHmac(SECRET, '{}')}`, 'content-length': 2 },
  });
  polite.flushHeaders();
  await once(polite, 'continue');
  polite.end('{}');
  const [response] = await once(polite, 'response');
  response.resume();
  assert.equal(response.statusCode, 200);
});

test('18: a client that sends a body beyond the limit without asking still gets to read its 413', async () => {
  for (let count = 0; count < 10; count++) {
    const { status } = await gateway.send('a', { raw: 'x'.repeat(3_000_000) });
    assert.equal(status, 413);
  }
});

test('19: a chunked body is cut off at the limit; one of exactly the limit is read', async () => {
  const chunk = (size: number) => `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`;
  const answer = await rawRequest(
    gateway.url,
    post([signed('x'), 'Transfer-Encoding: chunked'], chunk(1_000_000) + chunk(100_000)),
  );
  assert.deepEqual(answer.statuses, [413]);
  const body = JSON.stringify('x'.repeat(1_048_574));
  const whole = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  assert.deepEqual(
    (await rawRequest(gateway.url, post([signed(body), 'Transfer-Encoding: chunked'], whole))).statuses,
    [200],
  );
});

test('20, 21: requests that two readers could read differently are 400 and end the connection', async () => {
  const bad = [
    post(['Content-Length: 2', 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
    post(['Transfer-Encoding: xchunked'], '{}'),
    post(['Content-Length: 2', 'Content-Length: 2'], '{}'),
    post(['Content-Length: +2'], '{}'),
    post(['Content-Length: -1']),
    post(['Content-Length: 1e3'], '{}'),
    post(['Content-Length: 18446744073709551616'], '{}'),
    post(['X-Bad : 1', 'Content-Length: 2'], '{}'),
    post(['X-A: b\r\n folded', 'Content-Length: 2'], '{}'),
    post(['X-A: a\0b', 'Content-Length: 2'], '{}'),
    post([`Host: second.example`, signed('{}'), 'Content-Length: 2'], '{}'),
    'POST /webhooks/a HTTP/1.1\nHost: x\nContent-Length: 2\n\n{}',
    'POST /webhooks/a HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}',
  ];
  for (const bytes of bad) {
    const { statuses, closed } = await rawRequest(gateway.url, bytes, 1, 3000);
    // A folded header or a bare line feed may also be read as what it means; then the missing signature refuses it.
    assert.ok(
      statuses.length === 1 && [400, 401].includes(statuses[0] ?? 0),
      `${JSON.stringify(bytes.slice(0, 120))} ${statuses}`,
    );
    if (statuses[0] === 400) assert.ok(closed, bytes);
  }
  const huge = await rawRequest(gateway.url, post([`X-Big: ${'x'.repeat(20_000)}`, 'Content-Length: 2'], '{}'));
  assert.deepEqual(huge.statuses, [431]);
  const extension = post([signed('{}'), 'Transfer-Encoding: chunked'], `2;${'x'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`);
  assert.match(String((await rawRequest(gateway.url, extension)).statuses[0]), /^(400|413)$/);
});

test('24: an encoded body is 415 and not unpacked', async () => {
  const raw = gzipSync('{}'.padEnd(1_000_000));
  assert.equal((await gateway.send('a', { raw, headers: { 'content-encoding': 'gzip' } })).status, 415);
});

test('25: other methods and protocols', async () => {
  for (const text of [
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    `CONNECT ${host()} HTTP/1.1\r\nHost: ${host()}\r\n\r\n`,
    `GET /webhooks/a HTTP/1.1\r\nHost: ${host()}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    `POST http://${host()}/webhooks/a HTTP/1.1\r\nHost: ${host()}\r\nContent-Length: 2\r\n\r\n{}`,
  ]) {
    const { statuses, closed } = await rawRequest(gateway.url, text, 1, 2000);
    assert.ok(closed || [400, 401, 404, 405].includes(statuses[0] ?? 0), `${text} ${statuses}`);
  }
});

test('27: pipelined good and bad requests are answered in order, and the bad one poisons nothing', async () => {
  const unsigned = post(['Content-Length: 2'], '{}');
  const { statuses } = await rawRequest(gateway.url, goodRequest() + unsigned + goodRequest() + goodRequest('{'), 4);
  assert.deepEqual(statuses, [200, 401, 200, 400]);
});

test('28: what is not one JSON text in UTF-8 is 400 after a good signature and 401 after a bad one', async () => {
  const bad = ['', '{', 'NaN', '{}x', '["\\ud800"]', '{"\\udfff":1}', Buffer.from([0x22, 0xc3, 0x28, 0x22])];
  for (const raw of bad) {
    assert.equal((await gateway.send('a', { raw })).status, 400);
    assert.equal((await gateway.send('a', { raw, secret: 'wrong' })).status, 401);
  }
  for (const raw of ['null', '1', '"x"', '[]']) assert.equal((await gateway.send('raw', { raw })).status, 200);
});

test('29: deep nesting is 400; very many keys are handled', async () => {
  for (const depth of [65, 3000, 500_000]) {
    assert.equal((await gateway.send('a', { raw: '['.repeat(depth) + ']'.repeat(depth) })).status, 400);
    assert.equal((await gateway.send('a', { raw: '{"a":'.repeat(Math.min(depth, 100_000)) })).status, 400);
  }
  const keys = `{${Array.from({ length: 90_000 }, (_, index) => `"k${index}":1`).join(',')}}`;
  assert.equal((await gateway.send('raw', { raw: keys })).status, 200);
});

test('30: a payload cannot reach a prototype', async () => {
  const raw = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"title":"x"}';
  assert.equal((await gateway.send('a', { raw })).status, 200);
  assert.equal(Reflect.get({}, 'polluted'), undefined);
});

test('34: text from outside makes one escaped log line, whatever it holds', async () => {
  const event = 'x\u001b[31m\u202e';
  const body = { event_type: `push\r\n{"level":"error","message":"forged"}${event}` };
  await gateway.send('push', { body });
  assert.ok(!gateway.logs().some((line) => line.message === 'forged'));
});

test('Slack proves the address first: the challenge is answered, and only with a right signature', async () => {
  const raw = JSON.stringify({ type: 'url_verification', challenge: 'abc' });
  const stamp = String(Math.floor(Date.now() / 1000));
  const headers = (secret: string) => ({
    'x-slack-request-timestamp': stamp,
    'x-slack-signature': `v0=${hexHmac(secret, `v0:${stamp}:${raw}`)}`,
  });
  const good = await gateway.send('slack', { raw, secret: false, headers: headers(SECRET) });
  assert.deepEqual([good.status, good.json], [200, { challenge: 'abc' }]);
  assert.equal((await gateway.send('slack', { raw, secret: false, headers: headers('wrong') })).status, 401);
});

test('22: a client that sends its head or its body too slowly is cut off', async () => {
  const head = await openSocket(gateway.url);
  head.write('POST /webhooks/a HTTP/1.1\r\nHost: x\r\n');
  const body = await openSocket(gateway.url);
  body.write(post([signed('{}'), 'Content-Length: 2'], '{'));
  let said = '';
  body.on('data', (chunk) => {
    said += chunk;
  });
  const drip = setInterval(() => head.write('X-A: b\r\n'), 500);
  try {
    const closed = (socket: typeof head) => new Promise((resolve) => socket.on('close', resolve));
    await Promise.all([closed(head), closed(body)]);
  } finally {
    clearInterval(drip);
  }
  assert.match(said, /^HTTP\/1\.1 408 /);
});

test('42: while the store cannot store, the answer is 503 with Retry-After, and afterwards all is well', async () => {
  const { DatabaseSync } = await import('node:sqlite');
  const blocker = new DatabaseSync(`${gateway.home}/svc.db`);
  blocker.exec('BEGIN IMMEDIATE');
  try {
    const { status, headers, json } = await gateway.send('a', { id: 'blocked' });
    assert.equal(status, 503);
    assert.ok(Number(headers.get('retry-after')) >= 1);
    assert.equal(json.error, 'Cannot store the event now');
  } finally {
    blocker.exec('ROLLBACK');
    blocker.close();
  }
  const again = await until(async () => {
    const reply = await gateway.send('a', { id: 'blocked' });
    return reply.status === 200 && reply;
  });
  assert.equal(again.json.status, 'accepted');
});
