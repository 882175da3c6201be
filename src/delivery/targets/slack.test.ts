import { textAt } from '../judge.ts';
import { testHttpTarget } from '../target.contract.ts';
import { slack } from './slack.ts';

const TOKEN = 'xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcBrzbqgy';

testHttpTarget({
  target: slack,
  platform: (url) => ({ enabled: true, token: TOKEN, extra: { base_url: `${url}/api` } }),
  address: { target: 'slack', chatId: 'C0123456789', threadId: '1731638400.000100' },
  text: '**Build** <main> & [log](https://example.org/1)\n- one\n- two',
  request: {
    method: 'POST',
    path: '/api/chat.postMessage',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json; charset=utf-8' },
    json: {
      channel: 'C0123456789',
      thread_ts: '1731638400.000100',
      text: '*Build* &lt;main&gt; &amp; <https://example.org/1|log>\n\n• one\n• two',
      mrkdwn: true,
      unfurl_links: false,
      unfurl_media: false,
    },
  },
  success: { json: { ok: true, channel: 'C0123456789', ts: '1731638401.000200' } },
  receipt: '1731638401.000200',
  refusal: { reply: { json: { ok: false, error: 'channel_not_found' } }, words: /channel_not_found/ },
  rateLimit: {
    reply: { status: 429, headers: { 'retry-after': '30' }, json: { ok: false, error: 'ratelimited' } },
    afterMs: 30_000,
  },
  expired: { reply: { json: { ok: false, error: 'token_expired' } }, words: /token_expired/ },
  secrets: [TOKEN],
  check: { path: '/api/auth.test', reply: { json: { ok: true, user: 'svc', team: 'T' } }, who: 'svc' },
  textOf: (request) => textAt(request.json, 'text') ?? '',
});
