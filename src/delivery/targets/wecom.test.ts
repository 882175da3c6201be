import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttpDouble } from '../../../test/support/http-double.ts';
import { textAt } from '../judge.ts';
import { attempt, openBench, testHttpTarget } from '../target.contract.ts';
import { wecom } from './wecom.ts';

const SECRET = 'wecom-corp-secret-0123';
const tokenCall = {
  path: /gettoken/,
  reply: { json: { errcode: 0, errmsg: 'ok', access_token: 'acc', expires_in: 7200 } },
};

testHttpTarget({
  target: wecom,
  platform: (url) => ({
    enabled: true,
    extra: { base_url: url, corp_id: 'ww1', corp_secret: SECRET, agent_id: '1000002' },
  }),
  address: { target: 'messenger_10', chatId: 'zhangsan' },
  text: '**Build** done',
  before: [tokenCall],
  request: {
    method: 'POST',
    path: '/cgi-bin/message/send?access_token=acc',
    json: { touser: 'zhangsan', agentid: 1000002, msgtype: 'markdown', markdown: { content: '**Build** done' } },
  },
  success: { json: { errcode: 0, errmsg: 'ok', msgid: 'msg1' } },
  receipt: 'msg1',
  refusal: { reply: { json: { errcode: 81013, errmsg: 'user & party & tag all invalid' } }, words: /81013/ },
  rateLimit: { reply: { json: { errcode: 45009, errmsg: 'api freq out of limit' } } },
  expired: { reply: { json: { errcode: 42001, errmsg: 'access_token expired' } }, words: /42001/ },
  secrets: [SECRET],
  check: { path: `/cgi-bin/gettoken?corpid=ww1&corpsecret=${SECRET}`, reply: tokenCall.reply, who: 'ww1' },
  textOf: (request) => textAt(request.json, 'markdown.content') ?? '',
});

test('wecom sends through the robot of a group when there is only its key', async () => {
  await using double = await startHttpDouble(() => ({ json: { errcode: 0, errmsg: 'ok' } }));
  await using bench = await openBench({
    wecom: { enabled: true, token: 'robot-key-1', extra: { base_url: double.url } },
  });
  assert.equal((await attempt(bench.delivery, { address: { target: 'wecom' }, text: 'hi' })).kind, 'delivered');
  assert.equal(double.requests[0]?.path, '/cgi-bin/webhook/send?key=robot-key-1');
  await using empty = await openBench({ wecom: { enabled: true, extra: { base_url: double.url } } });
  assert.match(empty.delivery.problem({ target: 'wecom' }) ?? '', /key of a robot/);
});
