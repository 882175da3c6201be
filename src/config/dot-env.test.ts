import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseEnv } from 'node:util';
import { setVariable } from './dot-env.ts';

test('a new variable is added at the end, an old one replaced where it stands', () => {
  assert.equal(setVariable('', 'KEY', 'a'), 'KEY=a\n');
  assert.equal(setVariable('# mine\nA=1', 'KEY', 'a'), '# mine\nA=1\nKEY=a\n');
  assert.equal(setVariable('KEY=old\n# mine\nA=1\n', 'KEY', 'new'), 'KEY=new\n# mine\nA=1\n');
  assert.equal(setVariable('export KEY=old\nKEYS=1\n', 'KEY', 'new'), 'KEY=new\nKEYS=1\n');
});

for (const value of ['sk-abc_123', 'with space', 'with # hash', '$HOME', "it's", 'say "hi"', 'a=b']) {
  test(`the value ${value} is read back as it was given`, () => {
    assert.equal(parseEnv(setVariable('A=1\n', 'KEY', value)).KEY, value);
  });
}

test('a value that the file cannot hold is refused', () => {
  assert.throws(() => setVariable('', 'KEY', 'two\nlines \'"`'), /cannot be written/);
});
