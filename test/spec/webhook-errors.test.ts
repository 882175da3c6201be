// Contract: "Errors", the webhook HTTP responses and the startup errors.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SvcError } from '../../src/core/errors.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startHttpDouble } from '../support/http-double.ts';

let gateway: TestGateway;
let telegram: Awaited<ReturnType<typeof startHttpDouble>>;
before(async () => {
  telegram = await startHttpDouble(() => ({
    status: 400,
    json: { ok: false, description: 'chat not found: hidden detail' },
  }));
  gateway = await startTestGateway({
    routes: {
      a: {},
      off: { enabled: false },
      direct: { deliver_only: true, deliver: 'telegram', deliver_extra: { chat_id: '1' }, prompt: 'x' },
      limited: {},
    },
    extra: { rate_limit: 3, max_body_bytes: 1000 },
    config: { platforms: { telegram: { enabled: true, token: '1:abc', extra: { base_url: telegram.url } } } },
  });
});
after(async () => {
  await gateway[Symbol.asyncDispose]();
  await telegram[Symbol.asyncDispose]();
});

test('400: a body that is not valid JSON', async () => {
  for (const raw of ['', '{', 'NaN', '{} x', "{'a':1}", Buffer.from([0x22, 0xff, 0x22]), '\ufeff{}']) {
    const { status, json } = await gateway.send('a', { raw });
    assert.equal(status, 400, JSON.stringify(raw));
    assert.equal(json.error, 'Invalid JSON');
  }
});

test('401: an invalid or missing signature, also when the body is no JSON', async () => {
  for (const request of [{ secret: 'wrong' }, { secret: false }, { secret: 'wrong', raw: '{' }] as const) {
    const { status, json } = await gateway.send('a', request);
    assert.deepEqual([status, json], [401, { error: 'Invalid signature' }]);
  }
});

test('404: an unknown route name, and a route that is switched off', async () => {
  for (const name of ['nothing', 'off', 'A', '__proto__', 'a%2Fb', '..%2Fa']) {
    const { status, json } = await gateway.send(name);
    assert.deepEqual([status, json], [404, { error: 'Unknown route' }], name);
  }
});

test('405: any other method on a route, with Allow', async () => {
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS']) {
    const { status, headers } = await gateway.send('a', { method });
    assert.deepEqual([status, headers.get('allow')], [405, 'POST'], method);
  }
});

test('413: a body larger than max_body_bytes; exactly that much is fine', async () => {
  const exact = JSON.stringify('x'.repeat(998));
  assert.equal((await gateway.send('a', { raw: exact })).status, 200);
  const { status, json } = await gateway.send('a', { raw: `${exact} ` });
  assert.deepEqual([status, json], [413, { error: 'Payload too large' }]);
});

test('429: the rate limit of the route, with Retry-After', async () => {
  for (let count = 0; count < 3; count++) assert.equal((await gateway.send('limited')).status, 200);
  const { status, json, headers } = await gateway.send('limited');
  assert.deepEqual([status, json], [429, { error: 'Rate limit exceeded' }]);
  const seconds = Number(headers.get('retry-after'));
  assert.ok(seconds >= 1 && seconds <= 60);
});

test('502: the target of a direct delivery rejected it; details stay in the log', async () => {
  const { status, json } = await gateway.send('direct', { id: 'd-1' });
  assert.equal(status, 502);
  assert.deepEqual(json, { status: 'error', error: 'Delivery failed', delivery_id: 'd-1' });
  const logged = gateway.logs().find((line) => line.message === 'Direct delivery failed');
  assert.match(String(logged?.reason), /hidden detail/);
});

test('start-up: all problems of all routes are told together, and nothing listens', async () => {
  const start = startTestGateway({
    routes: {
      bare: {},
      blank: { secret: '  ' },
      direct: { secret: 's', deliver_only: true },
      logged: { secret: 's', deliver_only: true, deliver: 'log' },
      'bad/name': { secret: 's' },
      pattern: { secret: 's', filters: { field: 'a', regex: '(' } },
      open: { secret: ['INSECURE_NO_AUTH', 's'] },
    },
    extra: { secret: undefined },
  });
  await assert.rejects(start, (error) => {
    assert.ok(error instanceof SvcError);
    assert.equal(error.code, 'config_invalid');
    for (const name of ['bare', 'blank', 'direct', 'logged', 'bad/name', 'pattern', 'open'])
      assert.match(error.message, new RegExp(`route ${name}: `));
    return true;
  });
});

test('a port in use is told with the key that changes it', async () => {
  const port = Number(new URL(gateway.url).port);
  await assert.rejects(startTestGateway({ extra: { port } }), (error) => {
    assert.ok(error instanceof SvcError);
    assert.equal(error.code, 'port_in_use');
    assert.match(error.help ?? '', /extra\.port/);
    return true;
  });
});
