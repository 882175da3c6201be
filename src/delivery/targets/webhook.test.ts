import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { startHttpDouble } from '../../../test/support/http-double.ts';
import { configSchema } from '../../config/schema.ts';
import { silentLog } from '../../core/log.ts';
import { createHttpCaller } from '../../system/fetch-json.ts';
import { createDelivery } from '../deliver.ts';
import { textAt } from '../judge.ts';
import { attempt, openBench, testHttpTarget } from '../target.contract.ts';
import { webhook } from './webhook.ts';

const SECRET = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
const platform = { enabled: true, token: SECRET };

testHttpTarget({
  target: webhook,
  platform: (url) => ({ ...platform, home_channel: { chat_id: `${url}/hooks/in` } }),
  address: { target: 'webhook' },
  text: '**Build** done',
  request: {
    method: 'POST',
    path: '/hooks/in',
    headers: { 'webhook-id': 'dlv_0k3v9a7b2c000abcdefgh', 'content-type': 'application/json' },
    check: ({ text, headers }) => {
      // The reference implementation of the form, not ours.
      const verified = new Webhook(SECRET).verify(text, headers);
      assert.equal(textAt(verified, 'data.text'), '**Build** done');
      assert.equal(textAt(verified, 'data.source'), 'nightly');
    },
  },
  success: { status: 204 },
  receipt: undefined,
  refusal: { reply: { status: 410, text: 'gone' }, words: /410: gone/ },
  rateLimit: { reply: { status: 429, headers: { 'retry-after': '4' } }, afterMs: 4000 },
  expired: { reply: { status: 401, text: 'bad signature' }, words: /bad signature/ },
  secrets: [SECRET],
  textOf: (request) => textAt(request.json, 'data.text') ?? '',
});

const PRIVATE = [
  'http://169.254.169.254/latest/meta-data',
  'http://[::ffff:127.0.0.1]/',
  'http://0x7f.1/',
  'http://2130706433/',
  'http://[::1]:80/',
  'http://10.0.0.1/',
  'http://localhost:1/',
];

test('webhook reaches no private address unless that is allowed, however it is written', async () => {
  await using bench = await openBench({ outgoing_webhook: platform }, { allowPrivate: false });
  for (const chatId of PRIVATE) {
    const outcome = await attempt(bench.delivery, { address: { target: 'webhook', chatId }, text: 'hi' });
    assert.ok(outcome.kind === 'refused', chatId);
    assert.match(outcome.reason, /not on the public internet/, chatId);
  }
  for (const chatId of ['file:///etc/passwd', 'https://user:pw@example.org/', 'ftp://example.org/']) {
    assert.equal(typeof bench.delivery.problem({ target: 'webhook', chatId }), 'string', chatId);
  }
});

test('webhook refuses a name that also resolves to a private address', async () => {
  await using double = await startHttpDouble(() => ({ status: 204 }));
  const addresses = [
    { address: '93.184.215.14', family: 4 },
    { address: '127.0.0.1', family: 4 },
  ];
  const http = createHttpCaller({ lookup: (_host, _options, callback) => callback(null, addresses) });
  const delivery = createDelivery({
    platforms: configSchema.parse({ platforms: { outgoing_webhook: platform } }).platforms,
    allowPrivate: false,
    log: silentLog,
    now: () => Date.now(),
    deliveriesFolder: '/nonexistent',
    env: {},
    http,
  });
  const address = { target: 'webhook', chatId: `http://rebind.example:${double.port}/` };
  const outcome = await attempt(delivery, { address, text: 'hi' });
  await delivery.close();
  assert.ok(outcome.kind === 'refused');
  assert.match(outcome.reason, /rebind\.example is not on the public internet/);
  assert.equal(double.requests.length, 0);
});
