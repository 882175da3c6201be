import assert from 'node:assert/strict';
import { textAt } from '../judge.ts';
import { testHttpTarget } from '../target.contract.ts';
import { weixin } from './weixin.ts';

const TOKEN = 'ilink-bot-token-0123456789';

testHttpTarget({
  target: weixin,
  platform: (url) => ({ enabled: true, token: TOKEN, extra: { base_url: url, context_token: 'ctx-home' } }),
  address: { target: 'messenger_11', chatId: 'o9cq80@im.wechat', extra: { context_token: 'ctx-1' } },
  text: '**Build** done',
  request: {
    method: 'POST',
    path: '/ilink/bot/sendmessage',
    headers: { authorization: `Bearer ${TOKEN}`, authorizationtype: 'ilink_bot_token' },
    json: {
      msg: {
        from_user_id: '',
        to_user_id: 'o9cq80@im.wechat',
        client_id: 'dlv_0k3v9a7b2c000abcdefgh',
        message_type: 2,
        message_state: 2,
        item_list: [{ type: 1, text_item: { text: 'Build done' } }],
        context_token: 'ctx-1',
      },
      base_info: { channel_version: '1.0.0' },
    },
    check: ({ headers }) => {
      assert.match(Buffer.from(headers['x-wechat-uin'] ?? '', 'base64').toString(), /^\d+$/);
    },
  },
  success: { json: { ret: 0 } },
  receipt: undefined,
  refusal: { reply: { json: { ret: -1, errcode: -1, errmsg: 'invalid context' } }, words: /-1 invalid context/ },
  rateLimit: { reply: { status: 429, headers: { 'retry-after': '3' }, json: {} }, afterMs: 3000 },
  expired: { reply: { json: { ret: -14, errcode: -14, errmsg: 'session timeout' } }, words: /-14/ },
  secrets: [TOKEN],
  check: { path: '/ilink/bot/getconfig', reply: { json: { ret: 0, typing_ticket: 'x' } }, who: undefined },
  textOf: (request) => textAt(request.json, 'msg.item_list.0.text_item.text') ?? '',
});
