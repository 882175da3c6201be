import assert from 'node:assert/strict';
import { testHttpTarget } from '../target.contract.ts';
import { sms } from './sms.ts';

const TOKEN = 'f2xxxxxxxxxxxxxxxxxxxxxxxxxxxxx1';
const field = (text: string, name: string) => new URLSearchParams(text).get(name) ?? '';

testHttpTarget({
  target: sms,
  platform: (url) => ({
    enabled: true,
    token: TOKEN,
    extra: { base_url: url, account_sid: 'AC0123456789abcdef', from: '+15005550006' },
  }),
  address: { target: 'sms', chatId: '+4915112345678' },
  text: '**Build** done & dusted',
  request: {
    method: 'POST',
    path: '/2010-04-01/Accounts/AC0123456789abcdef/Messages.json',
    headers: {
      authorization: `Basic ${Buffer.from(`AC0123456789abcdef:${TOKEN}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    check: ({ text }) => {
      assert.deepEqual(Object.fromEntries(new URLSearchParams(text)), {
        To: '+4915112345678',
        From: '+15005550006',
        Body: 'Build done & dusted',
      });
    },
  },
  success: { status: 201, json: { sid: 'SM87105da94bff44b999e4e6eb90d8eb6a', status: 'queued' } },
  receipt: 'SM87105da94bff44b999e4e6eb90d8eb6a',
  refusal: {
    reply: { status: 400, json: { code: 21211, message: "The 'To' number is not valid", status: 400 } },
    words: /21211 The 'To' number/,
  },
  rateLimit: { reply: { status: 429, json: { code: 20429, message: 'Too Many Requests', status: 429 } } },
  expired: { reply: { status: 401, json: { code: 20003, message: 'Authenticate', status: 401 } }, words: /20003/ },
  secrets: [TOKEN],
  check: {
    path: '/2010-04-01/Accounts/AC0123456789abcdef.json',
    reply: { json: { sid: 'AC0123456789abcdef', friendly_name: 'My account', status: 'active' } },
    who: 'My account',
  },
  textOf: ({ text }) => field(text, 'Body'),
});
