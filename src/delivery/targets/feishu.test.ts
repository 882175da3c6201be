import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttpDouble } from '../../../test/support/http-double.ts';
import { textAt } from '../judge.ts';
import { attempt, openBench, testHttpTarget } from '../target.contract.ts';
import { feishu } from './feishu.ts';

const SECRET = 'feishu-app-secret-0123';
const platform = (url: string) => ({ enabled: true, token: SECRET, extra: { base_url: url, app_id: 'cli_a1' } });
const tokenCall = {
  path: /tenant_access_token/,
  reply: { json: { code: 0, msg: 'ok', tenant_access_token: 't-abc', expire: 7200 } },
};
const post = (text: string) => JSON.stringify({ zh_cn: { content: [[{ tag: 'md', text }]] } });

testHttpTarget({
  target: feishu,
  platform,
  address: { target: 'lark', chatId: 'oc_a0553eda' },
  text: '**Build** done',
  before: [tokenCall],
  request: {
    method: 'POST',
    path: '/open-apis/im/v1/messages?receive_id_type=chat_id',
    headers: { authorization: 'Bearer t-abc' },
    json: {
      receive_id: 'oc_a0553eda',
      msg_type: 'post',
      content: post('**Build** done'),
      uuid: 'dlv_0k3v9a7b2c000abcdefgh',
    },
  },
  success: { json: { code: 0, msg: 'success', data: { message_id: 'om_dc13' } } },
  receipt: 'om_dc13',
  refusal: {
    reply: { status: 400, json: { code: 230002, msg: 'Bot/User can NOT be out of the chat' } },
    words: /230002/,
  },
  rateLimit: { reply: { status: 400, json: { code: 99991400, msg: 'request trigger frequency limit' } } },
  expired: { reply: { status: 400, json: { code: 99991663, msg: 'Invalid access token' } }, words: /99991663/ },
  secrets: [SECRET],
  check: { path: /tenant_access_token/, reply: tokenCall.reply, who: 'cli_a1' },
  textOf: (request) => textAt(JSON.parse(textAt(request.json, 'content') ?? '{}'), 'zh_cn.content.0.0.text') ?? '',
});

test('feishu gets a fresh access token when the kept one has ended, and answers in threads', async () => {
  let tokens = 0;
  await using double = await startHttpDouble((request) => {
    if (request.path.includes('tenant_access_token')) {
      tokens += 1;
      return { json: { code: 0, tenant_access_token: `t-${tokens}`, expire: 7200 } };
    }
    const ended = request.headers.authorization === 'Bearer t-1' && double.requests.length > 2;
    return ended
      ? { status: 400, json: { code: 99991663, msg: 'Invalid access token' } }
      : { json: { code: 0, data: { message_id: 'om_1' } } };
  });
  await using bench = await openBench({ messenger_9: platform(double.url), feishu: platform(double.url) });
  const message = { address: { target: 'feishu', chatId: 'ou_1', threadId: 'om_77' }, text: 'hi' };
  assert.equal((await attempt(bench.delivery, message)).kind, 'delivered');
  assert.equal((await attempt(bench.delivery, message)).kind, 'delivered');
  assert.equal(tokens, 2);
  assert.equal(double.requests[1]?.path, '/open-apis/im/v1/messages/om_77/reply');
  assert.equal(textAt(double.requests[1]?.json, 'reply_in_thread'), undefined);
  assert.match(double.requests[1]?.text ?? '', /"reply_in_thread":true/);
});
