import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cutText, indentedJson, type Json, parseJson, valueAt } from './json.ts';

const json = fc.jsonValue({ maxDepth: 6 }) as fc.Arbitrary<Json>;

test('without a cut, the bounded writer writes what JSON.stringify writes', () => {
  fc.assert(
    fc.property(json, (value) => {
      const expected = JSON.stringify(value, null, 2);
      assert.deepEqual(indentedJson(value, 1_000_000), { text: expected, cut: false });
    }),
  );
});

test('with a cut, it writes exactly the first code points of what JSON.stringify writes', () => {
  fc.assert(
    fc.property(json, fc.nat(200), (value, limit) => {
      const whole = [...JSON.stringify(value, null, 2)];
      const { text, cut } = indentedJson(value, limit);
      assert.equal(text, whole.slice(0, limit).join(''));
      assert.equal(cut, whole.length > limit);
    }),
  );
});

test('a string is cut between characters, never inside one', () => {
  assert.deepEqual(cutText('a😀b', 2), { text: 'a😀', cut: true });
  assert.deepEqual(cutText('a😀', 2), { text: 'a😀', cut: false });
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(30), (text, limit) => {
      assert.equal(cutText(text, limit).text, [...text].slice(0, limit).join(''));
    }),
  );
});

test('a wide value of a megabyte is written without building a megabyte', () => {
  const value = Array.from({ length: 90_000 }, (_, index) => `item ${index}`);
  assert.equal(indentedJson(value, 4000).text, JSON.stringify(value, null, 2).slice(0, 4000));
  assert.equal(indentedJson({ long: 'x'.repeat(5_000_000) }, 100).text.length, 100);
});

test('nesting beyond 64 levels is refused before parsing, brackets in strings do not count', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
  assert.equal(parseJson(nested(64)).kind, 'json');
  assert.equal(parseJson(nested(65)).kind, 'invalid');
  assert.equal(parseJson(nested(500_000)).kind, 'invalid');
  assert.equal(parseJson(JSON.stringify(`"${'['.repeat(1000)}\\`)).kind, 'json');
});

test('half a surrogate pair is refused in values and in keys, a whole pair is not', () => {
  assert.equal(parseJson('["\\ud800"]').kind, 'invalid');
  assert.equal(parseJson('{"\\udc00": 1}').kind, 'invalid');
  assert.deepEqual(parseJson('["\\ud83d\\ude00"]'), { kind: 'json', value: ['😀'] });
});

test('a path finds own keys and list elements and nothing else', () => {
  const value: Json = JSON.parse('{"a":[{"b":1}],"__proto__":{"x":2},"n":null,"s":"text"}');
  assert.equal(valueAt(value, ['a', '0', 'b']), 1);
  assert.equal(valueAt(value, ['n']), null);
  for (const path of [
    '__proto__.x',
    'constructor.name',
    'a.length',
    'a.-1',
    'a.00',
    'a.1',
    's.0',
    's.length',
    'n.x',
    'toString',
  ])
    assert.equal(valueAt(value, path.split('.')), undefined, path);
  assert.equal(valueAt({}, ['__proto__', 'x']), undefined);
});

test('whole numbers beyond 2^53 are written as they came', () => {
  const text = '{\n  "id": 12345678901234567890,\n  "minus": -9007199254740993,\n  "small": 7,\n  "half": 0.5\n}';
  const parsed = parseJson(text);
  assert.ok(parsed.kind === 'json');
  assert.equal(indentedJson(parsed.value, 1000).text, text);
  assert.equal(indentedJson(valueAt(parsed.value, ['id']) ?? null, 100).text, '12345678901234567890');
});
