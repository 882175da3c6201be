import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitWords } from './words.ts';

test('blanks separate words and quotes keep them together', () => {
  assert.deepEqual(splitWords(`  create "every 5m"  'say \\ "hi"' a\\ b `), [
    'create',
    'every 5m',
    'say \\ "hi"',
    'a b',
  ]);
});

test('an empty quoted word is a word', () => {
  assert.deepEqual(splitWords(`a "" b`), ['a', '', 'b']);
});

test('double quotes allow escapes of their own marks only', () => {
  assert.deepEqual(splitWords('"a\\"b\\\\c\\n"'), ['a"b\\c\\n']);
});

test('an open quote is not a line', () => {
  assert.equal(splitWords('say "hello'), undefined);
});
