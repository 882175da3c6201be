// Contract: "Webhook platform settings" and the environment variables.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configSchema } from '../../src/config/schema.ts';
import { SECRET, startTestGateway } from '../support/gateway.ts';
import { createSvcHome } from '../support/svc.ts';

test('the defaults are those of the contract', () => {
  const { enabled, extra } = configSchema.parse({}).platforms.webhook;
  assert.equal(enabled, false);
  assert.deepEqual(
    [extra.host, extra.port, extra.secret, extra.rate_limit, extra.max_body_bytes, extra.routes],
    ['0.0.0.0', 8644, undefined, 30, 1048576, {}],
  );
});

test('host, port, secret, rate_limit, max_body_bytes and routes are in force', async () => {
  await using gateway = await startTestGateway({
    routes: { a: {}, b: {} },
    extra: { host: '127.0.0.1', rate_limit: 1, max_body_bytes: 10, secret: 'global' },
  });
  assert.match(gateway.url, /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.equal((await gateway.send('a', { secret: 'global' })).status, 200);
  assert.equal((await gateway.send('a', { secret: 'global' })).status, 429);
  assert.equal((await gateway.send('b', { secret: 'global', raw: '"123456789"' })).status, 413);
  assert.equal((await gateway.send('b', { secret: SECRET })).status, 401);
});

test('while webhooks are off there is /health and no route', async () => {
  const home = createSvcHome();
  try {
    home.configure('platforms:\n  webhook:\n    extra:\n      routes:\n        a: { secret: x }\n');
    const gateway = await home.startGateway();
    assert.equal((await fetch(`${gateway.url}/health`)).status, 200);
    assert.equal((await fetch(`${gateway.url}/webhooks/a`, { method: 'POST', body: '{}' })).status, 404);
  } finally {
    await home.remove();
  }
});

test('WEBHOOK_ENABLED, WEBHOOK_PORT and WEBHOOK_SECRET stand in for the settings', async () => {
  const home = createSvcHome();
  try {
    home.configure('platforms:\n  webhook:\n    extra:\n      port: 1\n      routes:\n        a: {}\n');
    const env = { WEBHOOK_ENABLED: 'true', WEBHOOK_PORT: '0', WEBHOOK_SECRET: 'from-the-environment' };
    const gateway = await home.startGateway({ env });
    const headers = { 'X-Gitlab-Token': 'from-the-environment' };
    const answer = await fetch(`${gateway.url}/webhooks/a`, { method: 'POST', headers, body: '{}' });
    assert.equal(answer.status, 200);
    assert.doesNotMatch(gateway.output(), /from-the-environment/);
  } finally {
    await home.remove();
  }
});
