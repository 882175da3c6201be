import { textAt } from '../judge.ts';
import { testHttpTarget } from '../target.contract.ts';
import { bluebubbles } from './bluebubbles.ts';

const PASSWORD = 'blue bubbles & more';
const fault = (status: number, message: string) => ({
  status,
  json: { status, message: 'Error', error: { type: 'x', message } },
});

testHttpTarget({
  target: bluebubbles,
  platform: (url) => ({ enabled: true, token: PASSWORD, extra: { base_url: url } }),
  address: { target: 'messenger_12', chatId: '+4915112345678' },
  text: '**Build** done',
  request: {
    method: 'POST',
    path: `/api/v1/message/text?password=${encodeURIComponent(PASSWORD)}`,
    json: {
      chatGuid: 'iMessage;-;+4915112345678',
      tempGuid: 'dlv_0k3v9a7b2c000abcdefgh',
      message: 'Build done',
      method: 'apple-script',
    },
  },
  success: { json: { status: 200, message: 'Message sent!', data: { guid: 'p:0/ABC-123' } } },
  receipt: 'p:0/ABC-123',
  refusal: { reply: fault(400, 'Chat does not exist!'), words: /Chat does not exist/ },
  rateLimit: { reply: { status: 429, headers: { 'retry-after': '9' }, text: '' }, afterMs: 9000 },
  expired: { reply: fault(401, 'Unauthorized'), words: /Unauthorized/ },
  secrets: [PASSWORD, encodeURIComponent(PASSWORD)],
  check: {
    path: `/api/v1/ping?password=${encodeURIComponent(PASSWORD)}`,
    reply: { json: { status: 200, message: 'Ping received!', data: 'pong' } },
    who: 'pong',
  },
  textOf: (request) => textAt(request.json, 'message') ?? '',
});
