import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttpDouble } from '../../../test/support/http-double.ts';
import type { Address } from '../../core/address.ts';
import { textAt } from '../judge.ts';
import { attempt, openBench, testHttpTarget } from '../target.contract.ts';
import { gitlabComment } from './gitlab-comment.ts';

const TOKEN = 'glpat-0123456789abcdefghij';
const platform = (url: string) => ({ enabled: true, token: TOKEN, extra: { base_url: url } });

testHttpTarget({
  target: gitlabComment,
  platform,
  address: { target: 'hostb_comment', extra: { project: 'group/sub/app', mr_iid: '12' } },
  text: '**Build** done',
  request: {
    method: 'POST',
    path: '/api/v4/projects/group%2Fsub%2Fapp/merge_requests/12/notes',
    headers: { 'private-token': TOKEN },
    json: { body: '**Build** done' },
  },
  success: { status: 201, json: { id: 302, body: '**Build** done' } },
  receipt: '302',
  refusal: { reply: { status: 404, json: { message: '404 Project Not Found' } }, words: /Project Not Found/ },
  rateLimit: { reply: { status: 429, headers: { 'retry-after': '60' }, text: 'Retry later' }, afterMs: 60_000 },
  expired: {
    reply: { status: 401, json: { error: 'invalid_token', error_description: 'Token is expired.' } },
    words: /Token is expired/,
  },
  secrets: [TOKEN],
  check: { path: '/api/v4/user', reply: { json: { id: 1, username: 'svc' } }, who: 'svc' },
  textOf: (request) => textAt(request.json, 'body') ?? '',
});

test('gitlab_comment writes to issues too, and to what the address names', async () => {
  await using double = await startHttpDouble(() => ({ status: 201, json: { id: 1 } }));
  await using bench = await openBench({ gitlab_comment: platform(double.url) });
  const send = (address: Omit<Address, 'target'>) =>
    attempt(bench.delivery, { address: { target: 'gitlab_comment', ...address }, text: 'x' });
  await send({ extra: { project: 'g/p', issue_iid: '5' } });
  await send({ chatId: 'g/p', threadId: '#6' });
  await send({ chatId: 'g/p', threadId: '!7' });
  assert.deepEqual(
    double.requests.map((request) => request.path),
    [
      '/api/v4/projects/g%2Fp/issues/5/notes',
      '/api/v4/projects/g%2Fp/issues/6/notes',
      '/api/v4/projects/g%2Fp/merge_requests/7/notes',
    ],
  );
  for (const extra of [
    { project: '../x', mr_iid: '1' },
    { project: 'g/p', mr_iid: '-1' },
    { project: 'g/..', mr_iid: '1' },
  ]) {
    assert.equal((await send({ extra })).kind, 'refused');
  }
  assert.equal(double.requests.length, 3);
});
