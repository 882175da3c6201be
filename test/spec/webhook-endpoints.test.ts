// Contract: "HTTP endpoints of the webhook gateway".

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startHttpDouble } from '../support/http-double.ts';

let gateway: TestGateway;
let telegram: Awaited<ReturnType<typeof startHttpDouble>>;

before(async () => {
  telegram = await startHttpDouble(() => ({ json: { ok: true, result: { message_id: 5 } } }));
  gateway = await startTestGateway({
    routes: {
      all: {},
      picky: { events: ['pull_request'] },
      direct: { deliver_only: true, deliver: 'messenger_1', deliver_extra: { chat_id: '77' }, prompt: 'Hi {name}' },
    },
    config: {
      log: { level: 'debug' },
      platforms: { telegram: { enabled: true, token: '1:abc', extra: { base_url: telegram.url } } },
    },
  });
});
after(async () => {
  await gateway[Symbol.asyncDispose]();
  await telegram[Symbol.asyncDispose]();
});

test('GET /health answers 200 with status ok and platform webhook', async () => {
  const response = await fetch(`${gateway.url}/health`);
  assert.equal(response.status, 200);
  assert.deepEqual(await response.json(), { status: 'ok', platform: 'webhook' });
});

test('an accepted event is answered 200 with status, route, event and delivery id, all strings', async () => {
  const { status, json } = await gateway.send('all', { event: 'push', id: 'e-1', body: { a: 1 } });
  assert.equal(status, 200);
  assert.deepEqual(json, { status: 'accepted', route: 'all', event: 'push', delivery_id: 'e-1' });
});

test('an event that the route does not take is answered 200 ignored with the event', async () => {
  const { status, json } = await gateway.send('picky', { event: 'push' });
  assert.equal(status, 200);
  assert.deepEqual(json, { status: 'ignored', event: 'push' });
});

test('the ping event is ignored, and logged at debug level only', async () => {
  for (const route of ['picky', 'all']) {
    const { status, json } = await gateway.send(route, { event: 'ping', body: { zen: 'x' } });
    assert.equal(status, 200);
    assert.deepEqual(json, { status: 'ignored', event: 'ping' });
  }
  const lines = gateway.logs().filter((line) => line.event === 'ping');
  assert.ok(lines.length > 0);
  assert.deepEqual(new Set(lines.map((line) => line.level)), new Set(['debug']));
});

test('a direct delivery that succeeded is answered 200 with status, route, target as written and delivery id', async () => {
  const { status, json } = await gateway.send('direct', { id: 'd-1', body: { name: 'Ann' } });
  assert.equal(status, 200);
  assert.deepEqual(json, { status: 'delivered', route: 'direct', target: 'messenger_1', delivery_id: 'd-1' });
  assert.deepEqual(telegram.requests.at(-1)?.json, {
    chat_id: '77',
    text: 'Hi Ann',
    parse_mode: 'HTML',
    link_preview_options: { is_disabled: true },
  });
});

test('the same delivery id within the hour is answered 200 duplicate', async () => {
  await gateway.send('all', { id: 'twice' });
  const { status, json } = await gateway.send('all', { id: 'twice' });
  assert.equal(status, 200);
  assert.deepEqual(json, { status: 'duplicate', delivery_id: 'twice' });
});

test('event and delivery id are read from the real header names and from their stand-ins', async () => {
  for (const [event, id] of [
    ['x-github-event', 'x-github-delivery'],
    ['X-HostA-Event', 'X-HostA-Delivery'],
  ] as const) {
    const { json } = await gateway.send('all', { headers: { [event]: 'issues', [id]: `via-${id}` } });
    assert.deepEqual(json, { status: 'accepted', route: 'all', event: 'issues', delivery_id: `via-${id}` });
  }
  const { json } = await gateway.send('all', { headers: { 'X-HostB-Event': 'Push Hook', 'X-Request-ID': 'r-1' } });
  assert.deepEqual(json, { status: 'accepted', route: 'all', event: 'Push Hook', delivery_id: 'r-1' });
});

test('without an event header the payload field event_type names the event', async () => {
  const { json } = await gateway.send('all', { body: { event_type: 'deployment' } });
  assert.equal(json.event, 'deployment');
});

test('the event filter looks at the event type, never at the action inside the payload', async () => {
  const { json } = await gateway.send('picky', { event: 'pull_request', body: { action: 'labeled' } });
  assert.equal(json.status, 'accepted');
});

test('every answer is JSON, whatever the content type of the request', async () => {
  for (const type of ['application/json', 'text/plain', 'nonsense']) {
    const { status, headers } = await gateway.send('all', { headers: { 'content-type': type } });
    assert.equal(status, 200);
    assert.match(headers.get('content-type') ?? '', /^application\/json/);
  }
});
