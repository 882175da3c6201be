// Contract: "Limits", the rows about webhooks. Sizes of prompts are in webhook-templates.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestGateway } from '../support/gateway.ts';

test('30 requests per minute and route by default, each route on its own; what starts nothing costs nothing', async () => {
  await using gateway = await startTestGateway({ routes: { a: { events: ['push'] }, b: {} } });
  for (let count = 0; count < 40; count++) {
    assert.equal((await gateway.send('a', { secret: 'wrong' })).status, 401);
    assert.equal((await gateway.send('a', { event: 'other' })).json.status, 'ignored');
  }
  const replies = [];
  for (let count = 0; count < 31; count++) replies.push(await gateway.send('a', { event: 'push', id: `id-${count}` }));
  assert.deepEqual(new Set(replies.slice(0, 30).map((reply) => reply.status)), new Set([200]));
  assert.equal(replies.at(-1)?.status, 429);
  assert.equal((await gateway.send('a', { event: 'push', id: 'id-0' })).json.status, 'duplicate');
  assert.equal((await gateway.send('b')).status, 200);
});

test('extra.rate_limit changes the limit; it holds under concurrency and across a restart', async () => {
  const first = await startTestGateway({ routes: { a: {} }, extra: { rate_limit: 5 } });
  const replies = await Promise.all(Array.from({ length: 20 }, () => first.send('a')));
  assert.equal(replies.filter((reply) => reply.status === 200).length, 5);
  assert.equal(replies.filter((reply) => reply.status === 429).length, 15);
  await first.stop();
  await using second = await startTestGateway({ routes: { a: {} }, extra: { rate_limit: 5 }, home: first.home });
  assert.equal((await second.send('a')).status, 429);
});

test('the body may have 1048576 bytes by default and not one more', async () => {
  await using gateway = await startTestGateway({ routes: { a: {} } });
  const largest = JSON.stringify('x'.repeat(1_048_574));
  assert.equal(Buffer.byteLength(largest), 1_048_576);
  assert.equal((await gateway.send('a', { raw: largest })).status, 200);
  assert.equal((await gateway.send('a', { raw: `${largest} ` })).status, 413);
});

test('the delivery id is X-HostA-Delivery, then X-Request-ID, then a millisecond timestamp; an empty one is none', async () => {
  await using gateway = await startTestGateway({ routes: { a: {} } });
  const idFor = async (headers: Record<string, string>) => (await gateway.send('a', { headers })).json.delivery_id;
  assert.equal(await idFor({ 'X-HostA-Delivery': 'one', 'X-Request-ID': 'two' }), 'one');
  assert.equal(await idFor({ 'X-Request-ID': 'two' }), 'two');
  assert.equal(await idFor({ 'X-HostA-Delivery': '', 'X-Request-ID': 'three' }), 'three');
  const before = Date.now();
  const made = String(await idFor({ 'X-HostA-Delivery': '' }));
  assert.ok(Number(made.split('-')[0]) >= before);
});

test('without an id header retries are not deduplicated, not even within one millisecond', async () => {
  await using gateway = await startTestGateway({ routes: { a: {} }, extra: { rate_limit: 1000 } });
  const replies = await Promise.all(Array.from({ length: 50 }, () => gateway.send('a', { body: { same: true } })));
  assert.deepEqual(new Set(replies.map((reply) => reply.json.status)), new Set(['accepted']));
  assert.equal(new Set(replies.map((reply) => reply.json.delivery_id)).size, 50);
});

test('an id counts once per route: of 100 copies at once one is accepted, and another route takes it too', async () => {
  await using gateway = await startTestGateway({ routes: { a: {}, b: {} }, extra: { rate_limit: 1000 } });
  const replies = await Promise.all(Array.from({ length: 100 }, () => gateway.send('a', { id: 'same' })));
  const statuses = replies.map((reply) => reply.json.status);
  assert.equal(statuses.filter((status) => status === 'accepted').length, 1);
  assert.equal(statuses.filter((status) => status === 'duplicate').length, 99);
  assert.equal((await gateway.send('b', { id: 'same' })).json.status, 'accepted');
  assert.equal((await gateway.events('a')).length, 1);
});

test('an id is remembered across a restart', async () => {
  const first = await startTestGateway({ routes: { a: {} } });
  assert.equal((await first.send('a', { id: 'kept' })).json.status, 'accepted');
  await first.stop();
  await using second = await startTestGateway({ routes: { a: {} }, home: first.home });
  assert.equal((await second.send('a', { id: 'kept' })).json.status, 'duplicate');
});
