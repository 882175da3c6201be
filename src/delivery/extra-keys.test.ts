import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extraKeyProblems } from './extra-keys.ts';

test('a key that the target does not know is refused with the one that was meant', () => {
  const github = [{ target: 'hosta_comment' }];
  assert.deepEqual(extraKeyProblems(github, ['repo', 'pr_number', 'chat_id']), []);
  assert.match(extraKeyProblems(github, ['pr_numbr'])[0] ?? '', /no key `pr_numbr`.*`pr_number`/);
  assert.match(extraKeyProblems([{ target: 'telegram' }], ['bogus'])[0] ?? '', /Known keys: chat_id, thread_id/);
});

test('of several targets one has to know the key; the log keeps the keys of any target', () => {
  assert.deepEqual(extraKeyProblems([{ target: 'telegram' }, { target: 'email' }], ['subject']), []);
  assert.deepEqual(extraKeyProblems([{ target: 'log' }], ['repo', 'pr_number']), []);
  assert.equal(extraKeyProblems([{ target: 'log' }], ['repository_of_mine']).length, 1);
});
