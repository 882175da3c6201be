// The contract's section "Local model server" and the rows about model calls in "Limits".

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clockOverrides, clocksFor } from '../../src/agent/timeouts.ts';
import { startModelServer } from '../support/model-server.ts';
import { textOf, trial } from '../support/model-trial.ts';
import { createSvcHome } from '../support/svc.ts';

test('the chat request goes to POST /v1/chat/completions with model, messages of role and content, and max_tokens', async (t) => {
  const { ask, server } = await trial(t, [{ text: 'ok' }]);
  await ask();
  const { path, body } = server.requests[0] ?? assert.fail();
  assert.equal(path, '/v1/chat/completions');
  assert.equal(typeof body.model, 'string');
  assert.ok(Number.isInteger(body.max_tokens));
  assert.ok(body.messages.every(({ role, content }) => typeof role === 'string' && typeof content === 'string'));
});

test('the answer is read from choices[0].message.content', async (t) => {
  const choices = [{ message: { content: 'the first' } }, { message: { content: 'the second' } }];
  const { ask } = await trial(t, [{ status: 200, body: JSON.stringify({ choices }) }]);
  assert.equal(textOf(await ask()), 'the first');
});

test('the models are read from data[].id of GET /v1/models, and the base URL has the form http://<host>:<port>', async (t) => {
  const server = await startModelServer([], { models: ['alpha', 'beta'] });
  const home = createSvcHome();
  t.after(async () => {
    await server.close();
    await home.remove();
  });
  const { stdout } = await home.svc(['model', '--list', '--base-url', server.url, '--json']);
  assert.deepEqual(
    JSON.parse(stdout).map((row: { model: string }) => row.model),
    ['alpha', 'beta'],
  );
});

test('the stream read timeout is 120 s, and 1800 s for local endpoints; the environment overrides it in seconds', () => {
  assert.equal(clocksFor(false, {}).read, 120_000);
  assert.equal(clocksFor(true, {}).read, 1_800_000);
  assert.equal(clocksFor(true, clockOverrides({ SVC_STREAM_READ_TIMEOUT: '120' })).read, 120_000);
});

test('stale-stream detection is 180 s, and off for local endpoints', () => {
  assert.equal(clocksFor(false, {}).stale, 180_000);
  assert.equal(clocksFor(true, {}).stale, undefined);
  assert.equal(clocksFor(true, clockOverrides({ SVC_STREAM_STALE_TIMEOUT: '60' })).stale, 60_000);
});

test('a call without streaming may take 1800 s, local or not', () => {
  assert.equal(clocksFor(false, {}).call, 1_800_000);
  assert.equal(clocksFor(true, {}).call, 1_800_000);
  assert.equal(clocksFor(false, clockOverrides({ SVC_API_TIMEOUT: '5' })).call, 5000);
});
