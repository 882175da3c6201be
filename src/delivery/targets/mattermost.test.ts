import { textAt } from '../judge.ts';
import { testHttpTarget } from '../target.contract.ts';
import { mattermost } from './mattermost.ts';

const TOKEN = 'mattermosttoken1234567890';
const fault = (status: number, id: string, message: string) => ({ status, json: { id, message, status_code: status } });

testHttpTarget({
  target: mattermost,
  platform: (url) => ({ enabled: true, token: TOKEN, extra: { base_url: url } }),
  address: { target: 'messenger_7', chatId: '4xp9fdt77pncbef59f4k1qe83o', threadId: 'q5c1trqd6jn4jd5tz3wmpd1wor' },
  text: '| a |\n|---|\n| **1** |',
  request: {
    method: 'POST',
    path: '/api/v4/posts',
    headers: { authorization: `Bearer ${TOKEN}` },
    json: {
      channel_id: '4xp9fdt77pncbef59f4k1qe83o',
      root_id: 'q5c1trqd6jn4jd5tz3wmpd1wor',
      message: '| a |\n|---|\n| **1** |',
    },
  },
  success: { status: 201, json: { id: 'k1f9j4jd5tz3wmpd1worq5c1tr', channel_id: '4xp9fdt77pncbef59f4k1qe83o' } },
  receipt: 'k1f9j4jd5tz3wmpd1worq5c1tr',
  refusal: {
    reply: fault(403, 'api.context.permissions.app_error', 'You do not have the permissions'),
    words: /permissions/,
  },
  rateLimit: {
    reply: { status: 429, headers: { 'retry-after': '2' }, text: 'limit exceeded' },
    afterMs: 2000,
  },
  expired: {
    reply: fault(401, 'api.context.session_expired.app_error', 'Invalid or expired session'),
    words: /expired/,
  },
  secrets: [TOKEN],
  check: { path: '/api/v4/users/me', reply: { json: { id: 'u', username: 'svc' } }, who: 'svc' },
  textOf: (request) => textAt(request.json, 'message') ?? '',
});
