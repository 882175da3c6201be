import { textAt } from '../judge.ts';
import { testHttpTarget } from '../target.contract.ts';
import { whatsapp } from './whatsapp.ts';

const TOKEN = 'EAAJB-whatsapp-token-1234567890';
const fault = (status: number, code: number, message: string) => ({
  status,
  json: { error: { message, type: 'OAuthException', code, fbtrace_id: 'x' } },
});

testHttpTarget({
  target: whatsapp,
  platform: (url) => ({ enabled: true, token: TOKEN, extra: { base_url: url, phone_number_id: '106540352242922' } }),
  address: { target: 'messenger_5', chatId: '4915112345678' },
  text: '**Build** *done* [log](https://example.org/1)',
  request: {
    method: 'POST',
    path: '/v23.0/106540352242922/messages',
    headers: { authorization: `Bearer ${TOKEN}` },
    json: {
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: '4915112345678',
      type: 'text',
      text: { preview_url: false, body: '*Build* _done_ log (https://example.org/1)' },
    },
  },
  success: { json: { messaging_product: 'whatsapp', contacts: [], messages: [{ id: 'wamid.HBgLMTY1' }] } },
  receipt: 'wamid.HBgLMTY1',
  refusal: { reply: fault(400, 131047, 'Re-engagement message'), words: /131047 Re-engagement/ },
  rateLimit: { reply: fault(400, 130429, 'Rate limit hit') },
  expired: { reply: fault(401, 190, 'Error validating access token: Session has expired'), words: /190.*expired/ },
  secrets: [TOKEN],
  check: {
    path: '/v23.0/106540352242922?fields=display_phone_number',
    reply: { json: { display_phone_number: '+49 151 12345678', id: '106540352242922' } },
    who: '+49 151 12345678',
  },
  textOf: (request) => textAt(request.json, 'text.body') ?? '',
});
