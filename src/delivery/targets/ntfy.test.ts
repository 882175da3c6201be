import { textAt } from '../judge.ts';
import { testHttpTarget } from '../target.contract.ts';
import { ntfy } from './ntfy.ts';

const TOKEN = 'tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2';

testHttpTarget({
  target: ntfy,
  platform: (url) => ({ enabled: true, token: TOKEN, extra: { base_url: url } }),
  address: { target: 'ntfy', chatId: 'alerts', extra: { priority: '4', tags: 'warning, ci' } },
  text: '**Büild** done',
  request: {
    method: 'POST',
    path: '/',
    headers: { authorization: `Bearer ${TOKEN}` },
    json: {
      topic: 'alerts',
      title: 'nightly',
      message: '**Büild** done',
      markdown: true,
      priority: 4,
      tags: ['warning', 'ci'],
    },
  },
  success: { json: { id: 'sPs71M8A2T', time: 1, event: 'message', topic: 'alerts' } },
  receipt: 'sPs71M8A2T',
  refusal: { reply: { status: 403, json: { code: 40301, http: 403, error: 'forbidden' } }, words: /forbidden/ },
  rateLimit: { reply: { status: 429, json: { code: 42901, http: 429, error: 'limit reached: too many requests' } } },
  expired: { reply: { status: 401, json: { code: 40101, http: 401, error: 'unauthorized' } }, words: /unauthorized/ },
  secrets: [TOKEN],
  check: { path: '/v1/account', reply: { json: { username: 'phil', role: 'user' } }, who: 'phil' },
  textOf: (request) => textAt(request.json, 'message') ?? '',
});
