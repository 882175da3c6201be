import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttpDouble } from '../../../test/support/http-double.ts';
import { textAt } from '../judge.ts';
import { attempt, openBench, testHttpTarget } from '../target.contract.ts';
import { qqbot } from './qqbot.ts';

const SECRET = 'qq-client-secret-0123';
const platform = (url: string) => ({
  enabled: true,
  token: SECRET,
  extra: { base_url: url, token_url: `${url}/app/getAppAccessToken`, app_id: '102001' },
});
const tokenCall = { path: /getAppAccessToken/, reply: { json: { access_token: 'ACCESS', expires_in: '7200' } } };

testHttpTarget({
  target: qqbot,
  platform,
  address: { target: 'messenger_13', chatId: 'group:C9F778FE' },
  text: '**Build** done',
  before: [tokenCall],
  request: {
    method: 'POST',
    path: '/v2/groups/C9F778FE/messages',
    headers: { authorization: 'QQBot ACCESS' },
    json: { content: 'Build done', msg_type: 0 },
  },
  success: { json: { id: 'ROBOT1.0_abc', timestamp: '2026-11-15T00:00:00+08:00' } },
  receipt: 'ROBOT1.0_abc',
  refusal: {
    reply: { status: 400, json: { code: 304023, message: 'push message is waiting for audit' } },
    words: /304023/,
  },
  rateLimit: { reply: { status: 400, json: { code: 22009, message: 'msg limit exceed' } } },
  expired: { reply: { status: 401, json: { code: 11244, message: 'token not exist or expire' } }, words: /11244/ },
  secrets: [SECRET],
  check: { path: '/app/getAppAccessToken', reply: tokenCall.reply, who: '102001' },
  textOf: (request) => textAt(request.json, 'content') ?? '',
});

test('qqbot writes to people, groups and channels under their own paths', async () => {
  await using double = await startHttpDouble((request) =>
    tokenCall.path.test(request.path) ? tokenCall.reply : { json: { id: '1' } },
  );
  await using bench = await openBench({ qqbot: platform(double.url) });
  for (const chatId of ['E4F4', 'c2c:E4F4', 'channel:123']) {
    await attempt(bench.delivery, { address: { target: 'qqbot', chatId }, text: 'hi' });
  }
  assert.deepEqual(
    double.requests.map((request) => request.path),
    ['/app/getAppAccessToken', '/v2/users/E4F4/messages', '/v2/users/E4F4/messages', '/channels/123/messages'],
  );
});
