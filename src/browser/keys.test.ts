import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyEvent } from './keys.ts';

test('named keys, function keys and characters become protocol keys', () => {
  assert.deepEqual(keyEvent('Enter'), {
    key: 'Enter',
    text: '\r',
    code: 'Enter',
    windowsVirtualKeyCode: 13,
    modifiers: 0,
  });
  assert.deepEqual(keyEvent('f5'), { key: 'F5', code: 'F5', windowsVirtualKeyCode: 116, modifiers: 0 });
  assert.deepEqual(keyEvent('a'), { key: 'a', code: 'KeyA', windowsVirtualKeyCode: 65, text: 'a', modifiers: 0 });
  assert.equal(keyEvent('+').text, '+');
  assert.equal(keyEvent('ä').text, 'ä');
});

test('with a modifier a letter is a command and writes nothing, with Shift it is a capital', () => {
  assert.deepEqual([keyEvent('Control+A').text, keyEvent('Control+A').modifiers], [undefined, 2]);
  assert.equal(keyEvent('Shift+a').text, 'A');
  assert.equal(keyEvent('Ctrl+Shift+K').modifiers, 10);
});

test('an unknown key is told with what would work', () => {
  for (const name of ['', 'Nokey', 'Hyper+A', 'Control+Nokey']) assert.throws(() => keyEvent(name), /no key called/);
});
