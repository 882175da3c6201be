import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttpDouble } from '../../../test/support/http-double.ts';
import { textAt } from '../judge.ts';
import { attempt, openBench, testHttpTarget } from '../target.contract.ts';
import { matrix } from './matrix.ts';

const TOKEN = 'syt_c3Zj_matrixaccesstoken_1a2b3c';
const platform = (url: string) => ({ enabled: true, token: TOKEN, extra: { base_url: url } });

testHttpTarget({
  target: matrix,
  platform,
  address: { target: 'matrix', chatId: '!abc:example.org:8448', threadId: '$root' },
  text: '**Build** & <done>',
  request: {
    method: 'PUT',
    path: '/_matrix/client/v3/rooms/!abc%3Aexample.org%3A8448/send/m.room.message/dlv_0k3v9a7b2c000abcdefgh',
    headers: { authorization: `Bearer ${TOKEN}` },
    json: {
      msgtype: 'm.text',
      body: 'Build & <done>',
      format: 'org.matrix.custom.html',
      formatted_body: '<p><strong>Build</strong> &amp; &lt;done&gt;</p>',
      'm.relates_to': { rel_type: 'm.thread', event_id: '$root' },
    },
  },
  success: { json: { event_id: '$YUwRidLecu' } },
  receipt: '$YUwRidLecu',
  refusal: {
    reply: { status: 403, json: { errcode: 'M_FORBIDDEN', error: 'User not in room' } },
    words: /M_FORBIDDEN User not in room/,
  },
  rateLimit: {
    reply: { status: 429, json: { errcode: 'M_LIMIT_EXCEEDED', error: 'Too many requests', retry_after_ms: 2345 } },
    afterMs: 2345,
  },
  expired: {
    reply: { status: 401, json: { errcode: 'M_UNKNOWN_TOKEN', error: 'Access token has expired', soft_logout: false } },
    words: /M_UNKNOWN_TOKEN/,
  },
  secrets: [TOKEN],
  check: {
    path: '/_matrix/client/v3/account/whoami',
    reply: { json: { user_id: '@svc:example.org' } },
    who: '@svc:example.org',
  },
  textOf: (request) => textAt(request.json, 'body') ?? '',
});

test('matrix finds the room behind an alias, and repeats a message under the same transaction id', async () => {
  await using double = await startHttpDouble((request) =>
    request.path.includes('/directory/') ? { json: { room_id: '!r:example.org' } } : { json: { event_id: '$e' } },
  );
  await using bench = await openBench({ messenger_6: platform(double.url), matrix: platform(double.url) });
  const message = { address: { target: 'matrix', chatId: '#ops:example.org' }, text: 'hi' };
  await attempt(bench.delivery, message);
  await attempt(bench.delivery, message);
  assert.equal(double.requests[0]?.path, '/_matrix/client/v3/directory/room/%23ops%3Aexample.org');
  const sends = double.requests.filter((request) => request.method === 'PUT').map((request) => request.path);
  assert.equal(sends.length, 2);
  assert.equal(sends[0], sends[1]);
  assert.match(sends[0] ?? '', /rooms\/!r%3Aexample.org\/send/);
});
