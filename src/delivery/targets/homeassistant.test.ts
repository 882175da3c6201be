import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttpDouble } from '../../../test/support/http-double.ts';
import { textAt } from '../judge.ts';
import { attempt, openBench, testHttpTarget } from '../target.contract.ts';
import { homeassistant } from './homeassistant.ts';

const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.homeassistant.token';
const platform = (url: string) => ({ enabled: true, token: TOKEN, extra: { base_url: url } });

testHttpTarget({
  target: homeassistant,
  platform,
  address: { target: 'home_automation', extra: { title: 'CI' } },
  text: '**Build** done',
  request: {
    method: 'POST',
    path: '/api/services/persistent_notification/create',
    headers: { authorization: `Bearer ${TOKEN}` },
    json: { title: 'CI', message: '**Build** done', notification_id: 'dlv_0k3v9a7b2c000abcdefgh' },
  },
  success: { json: [] },
  receipt: undefined,
  refusal: { reply: { status: 400, json: { message: 'extra keys not allowed' } }, words: /extra keys/ },
  rateLimit: { reply: { status: 429, headers: { 'retry-after': '5' }, text: '' }, afterMs: 5000 },
  expired: { reply: { status: 401, text: '401: Unauthorized' }, words: /401.*token/ },
  secrets: [TOKEN],
  check: { path: '/api/', reply: { json: { message: 'API running.' } }, who: 'API running.' },
  textOf: (request) => textAt(request.json, 'message') ?? '',
});

test('homeassistant calls the notify service that the address names', async () => {
  await using double = await startHttpDouble(() => ({ json: [] }));
  await using bench = await openBench({ homeassistant: platform(double.url) });
  const address = { target: 'homeassistant', chatId: 'notify.mobile_app_phone' };
  await attempt(bench.delivery, { address, text: '**Build** done' });
  assert.equal(double.requests[0]?.path, '/api/services/notify/mobile_app_phone');
  assert.deepEqual(double.requests[0]?.json, { title: 'nightly', message: 'Build done' });
});
