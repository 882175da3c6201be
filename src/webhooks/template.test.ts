import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Json } from '../core/json.ts';
import { compileTemplate, renderPayload, renderTemplate } from './template.ts';

const render = (source: string, payload: Json) => renderTemplate(compileTemplate(source), payload);

test('a template without placeholders comes out as it went in', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.jsonValue(), (source, payload) => {
      const literal = source.replaceAll('{', '(');
      assert.deepEqual(render(literal, payload as Json), { text: literal, unresolved: [], cut: [] });
    }),
  );
});

test('any text with braces renders without a throw, and every unresolved placeholder stays as written', () => {
  const piece = fc.oneof(
    fc.constantFrom('{', '}', '{a}', '{a.b}', '{x.0}', '{{a}}', '{__raw__}', '{ a }', '{"a":1}'),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      const source = pieces.join('');
      assert.equal(render(source, 'no object').text.replaceAll('"no object"', '{__raw__}'), source);
    }),
  );
});

test('a value that looks like a placeholder or a replacement pattern stands as it is', () => {
  assert.equal(render('{a}-{b}', { a: '{b}', b: '$& $1 {a}' }).text, '{b}-$& $1 {a}');
});

test('what was not found and what was cut is told', () => {
  const { unresolved, cut } = render('{a} {b.c} {list} {__raw__}', {
    a: 1,
    list: Array.from({ length: 3000 }, () => 7),
  });
  assert.deepEqual([unresolved, cut], [['b.c'], ['list', '__raw__']]);
});

test('doubled braces are no escape, and spaces or quotes make no placeholder', () => {
  assert.equal(render('{{n}} { n } {"n": 1} {}', { n: 1 }).text, '{1} { n } {"n": 1} {}');
});

test('huge templates of braces, deep paths and many copies of a long value are rendered in linear time', () => {
  const limitMs = 2000;
  const started = performance.now();
  assert.equal(render('{'.repeat(100_000), {}).text.length, 100_000);
  const deep = `{a${'.a'.repeat(50_000)}`;
  assert.equal(render(deep, {}).text, deep);
  assert.equal(render(`${deep}}`, {}).text, `${deep}}`);
  const copies = render('{a}'.repeat(10_000), { a: 'x'.repeat(1_000_000) });
  assert.ok(copies.text.length <= 1_048_576);
  assert.ok(performance.now() - started < limitMs);
});

test('cuts count characters and leave none in half', () => {
  const { text } = renderPayload('😀'.repeat(5000));
  assert.equal([...text].length, 4000);
  assert.ok(text.isWellFormed());
});
