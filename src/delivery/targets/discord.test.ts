import { textAt } from '../judge.ts';
import { testHttpTarget } from '../target.contract.ts';
import { discord } from './discord.ts';

const TOKEN = 'MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs';

testHttpTarget({
  target: discord,
  platform: (url) => ({ enabled: true, token: TOKEN, extra: { base_url: `${url}/api/v10` } }),
  address: { target: 'messenger_2', chatId: '112233445566778899', threadId: '998877665544332211' },
  text: '# Build\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n@everyone **done**',
  request: {
    method: 'POST',
    path: '/api/v10/channels/998877665544332211/messages',
    headers: { authorization: `Bot ${TOKEN}`, 'user-agent': /^DiscordBot \(/ },
    json: {
      content: '# Build\n\n```\na  b\n1  2\n```\n\n@everyone **done**',
      nonce: 'dlv_0k3v9a7b2c000abcdefgh',
      enforce_nonce: true,
      allowed_mentions: { parse: [] },
    },
  },
  success: { json: { id: '1234567890', channel_id: '998877665544332211' } },
  receipt: '1234567890',
  refusal: { reply: { status: 404, json: { message: 'Unknown Channel', code: 10003 } }, words: /Unknown Channel/ },
  rateLimit: {
    reply: { status: 429, json: { message: 'You are being rate limited.', retry_after: 1.25, global: false } },
    afterMs: 1250,
  },
  expired: { reply: { status: 401, json: { message: '401: Unauthorized', code: 0 } }, words: /Unauthorized/ },
  secrets: [TOKEN],
  check: { path: '/api/v10/users/@me', reply: { json: { id: '1', username: 'svc', bot: true } }, who: 'svc' },
  textOf: (request) => textAt(request.json, 'content') ?? '',
});
