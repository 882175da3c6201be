import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { startHttpDouble } from '../../../test/support/http-double.ts';
import { textAt } from '../judge.ts';
import { attempt, openBench, testHttpTarget } from '../target.contract.ts';
import { dingtalk } from './dingtalk.ts';

const TOKEN = '566cc69da782ec33e42541b09b08551f';
const SECRET = 'SEC0123456789abcdef';

testHttpTarget({
  target: dingtalk,
  platform: (url) => ({ enabled: true, token: TOKEN, extra: { base_url: url, secret: SECRET } }),
  address: { target: 'messenger_8' },
  text: '**Build** done',
  request: {
    method: 'POST',
    path: /^\/robot\/send\?/,
    json: { msgtype: 'markdown', markdown: { title: 'nightly', text: '**Build** done' } },
    check: ({ path }) => {
      const query = new URLSearchParams(path.split('?')[1]);
      const timestamp = query.get('timestamp') ?? '';
      assert.equal(query.get('access_token'), TOKEN);
      assert.ok(Math.abs(Date.now() - Number(timestamp)) < 60_000);
      assert.equal(query.get('sign'), createHmac('sha256', SECRET).update(`${timestamp}\n${SECRET}`).digest('base64'));
    },
  },
  success: { json: { errcode: 0, errmsg: 'ok' } },
  receipt: undefined,
  refusal: { reply: { json: { errcode: 310000, errmsg: 'sign not match' } }, words: /310000 sign not match/ },
  rateLimit: { reply: { json: { errcode: 130101, errmsg: 'send too fast' } } },
  expired: { reply: { json: { errcode: 300001, errmsg: 'token is not exist' } }, words: /token is not exist/ },
  secrets: [TOKEN, SECRET],
  textOf: (request) => textAt(request.json, 'markdown.text') ?? '',
});

test('dingtalk reaches groups and people through an app robot with an access token', async () => {
  await using double = await startHttpDouble((request) =>
    request.path.endsWith('/accessToken')
      ? { json: { accessToken: 'at1', expireIn: 7200 } }
      : { json: { processQueryKey: 'key1' } },
  );
  const extra = { api_url: double.url, client_id: 'dingapp', client_secret: 'appsecret' };
  await using bench = await openBench({ dingtalk: { enabled: true, extra } });
  await attempt(bench.delivery, { address: { target: 'dingtalk', chatId: 'cidAbc==' }, text: 'hi' });
  const outcome = await attempt(bench.delivery, { address: { target: 'dingtalk', chatId: 'user9' }, text: 'hi' });
  assert.deepEqual(outcome, { kind: 'delivered', receipt: 'key1' });
  const [token, group, person] = double.requests;
  assert.deepEqual(token?.json, { appKey: 'dingapp', appSecret: 'appsecret' });
  assert.equal(group?.path, '/v1.0/robot/groupMessages/send');
  assert.equal(group?.headers['x-acs-dingtalk-access-token'], 'at1');
  assert.deepEqual(group?.json, {
    robotCode: 'dingapp',
    openConversationId: 'cidAbc==',
    msgKey: 'sampleMarkdown',
    msgParam: JSON.stringify({ title: 'nightly', text: 'hi' }),
  });
  assert.equal(person?.path, '/v1.0/robot/oToMessages/batchSend');
  assert.equal(double.requests.length, 3);
});
