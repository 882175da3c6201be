import assert from 'node:assert/strict';
import { test } from 'node:test';
import { editConfig, readValue, splitKey } from './edit.ts';

test('a change keeps comments, order and everything else', () => {
  const before = '# mine\nmodel: # which\n  name: a # this one\n\n# next\nlog:\n  level: info\n';
  const after = editConfig(before, ['model', 'name'], 'b');
  for (const kept of ['# mine', '# which', '# this one', '# next', 'level: info'])
    assert.ok(after.includes(kept), kept);
  assert.match(after, /name: b # this one/);
});

test('missing groups are made, also in an empty file and where a key holds nothing', () => {
  assert.equal(editConfig('', ['model', 'name'], 'a'), 'model:\n  name: a\n');
  assert.equal(editConfig('# only a comment\n', ['model', 'name'], 'a'), '# only a comment\n\nmodel:\n  name: a\n');
  assert.equal(editConfig('model:\n', ['model', 'name'], 'a'), 'model:\n  name: a\n');
});

test('undefined removes the key', () => {
  assert.equal(editConfig('a: 1\nb: 2\n', ['a'], undefined), 'b: 2\n');
  assert.equal(editConfig('a: 1\n', ['b', 'c'], undefined), 'a: 1\n');
});

test('a broken file is left as it is', () => {
  assert.equal(editConfig('a: "x\n', ['a'], 1), 'a: "x\n');
});

test('a value becomes what the schema expects at its place', () => {
  assert.equal(readValue(['model', 'name'], '42'), '42');
  assert.equal(readValue(['platforms', 'webhook', 'extra', 'port'], '42'), 42);
  assert.equal(readValue(['platforms', 'webhook', 'enabled'], 'true'), true);
  assert.deepEqual(readValue(['files', 'roots'], '[a, b]'), ['a', 'b']);
  assert.equal(readValue(['platforms', 'telegram', 'token'], '123:abc'), '123:abc');
  assert.equal(readValue(['platforms', 'telegram', 'home_channel', 'chat_id'], '-100'), '-100');
});

test('a value that changes what YAML would read is quoted in the file', () => {
  assert.match(editConfig('', ['model', 'name'], '42'), /name: "42"/);
});

test('a key with a dot in it is written in quotes', () => {
  assert.deepEqual(splitKey('a.b.c'), ['a', 'b', 'c']);
  assert.deepEqual(splitKey('routes."a.b".deliver'), ['routes', 'a.b', 'deliver']);
  for (const wrong of ['', '.', 'a..b', 'a.', '.a']) assert.equal(splitKey(wrong), undefined, wrong);
});

test('a platform that stands in the file under its other name is changed there', () => {
  const text = editConfig('platforms:\n  messenger_1:\n    token: x\n', ['platforms', 'telegram', 'enabled'], true);
  assert.equal(text, 'platforms:\n  messenger_1:\n    token: x\n    enabled: true\n');
  assert.match(editConfig('', ['platforms', 'messenger_1', 'enabled'], true), /messenger_1:/);
  assert.doesNotMatch(editConfig(text, ['platforms', 'telegram', 'token'], undefined), /token/);
});
