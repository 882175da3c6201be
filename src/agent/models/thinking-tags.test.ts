import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { separateThinking, withoutStrayThinking } from './thinking-tags.ts';

function separate(pieces: readonly string[]): { text: string; thinking: string } {
  const tags = separateThinking();
  const out = { text: '', thinking: '' };
  for (const { kind, delta } of [...pieces.flatMap((piece) => tags.push(piece)), ...tags.end()]) out[kind] += delta;
  return out;
}

for (const [whole, text, thinking] of [
  ['plain', 'plain', ''],
  ['<think>hm</think>yes', 'yes', 'hm'],
  ['\n<thinking>hm</thinking>\n\nyes', 'yes', 'hm'],
  ['<think></think>yes', 'yes', ''],
  ['<think>never closed', '', 'never closed'],
  ['use <think> tags', 'use <think> tags', ''],
  ['<think>a</think>b<think>c</think>', 'b<think>c</think>', 'a'],
  ['<thin', '<thin', ''],
  ['<b>bold</b>', '<b>bold</b>', ''],
  ['', '', ''],
] as const) {
  test(`${JSON.stringify(whole)} is read the same however it is cut`, () => {
    for (let at = 0; at <= whole.length; at += 1) {
      assert.deepEqual(separate([whole.slice(0, at), whole.slice(at)]), { text, thinking });
    }
    assert.deepEqual(separate([...whole]), { text, thinking });
  });
}

test('nothing is lost in a text without tags', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (pieces) => {
      fc.pre(!/<(think|thinking|reasoning)>/.test(pieces.join('')));
      assert.deepEqual(separate(pieces), { text: pieces.join(''), thinking: '' });
    }),
  );
});

test('a closing tag without its opening ends a thought that was shown as text', () => {
  assert.equal(withoutStrayThinking('hm\n</think>\n\nyes'), 'yes');
  assert.equal(
    withoutStrayThinking('the tag <think> is closed by </think>.'),
    'the tag <think> is closed by </think>.',
  );
});
