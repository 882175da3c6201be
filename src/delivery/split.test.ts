import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { lexer } from 'marked';
import { renderMarkdown } from './markdown.ts';
import { countText, splitMarkdown } from './split.ts';
import type { TextUnit } from './target.ts';

const itself = (part: string) => [part];
const splitPlain = (text: string, count: number, unit: TextUnit = 'utf16') =>
  splitMarkdown(text, { count, unit }, itself);

test('a text that fits stays whole, also when it is empty', () => {
  assert.deepEqual(splitPlain('hello', 5), ['hello']);
  assert.deepEqual(splitPlain('', 5), ['']);
});

test('a text is cut at line ends, else at spaces, else anywhere', () => {
  assert.deepEqual(splitPlain('one\ntwo\nthree', 9), ['one\ntwo', 'three']);
  assert.deepEqual(splitPlain('aaaa bbbb cccc', 10), ['aaaa bbbb ', 'cccc']);
  assert.deepEqual(splitPlain('x'.repeat(25), 10), ['x'.repeat(10), 'x'.repeat(10), 'x'.repeat(5)]);
});

test('a code fence that is cut is closed and opened again with its language', () => {
  const code = Array.from({ length: 8 }, (_, index) => `line ${index}`).join('\n');
  const parts = splitPlain(`before\n\`\`\`ts\n${code}\n\`\`\`\nafter`, 40);
  assert.ok(parts.length > 1);
  for (const part of parts) assert.equal((part.match(/^```/gm) ?? []).length % 2, 0, part);
  assert.ok(parts.slice(1, -1).every((part) => part.startsWith('```ts\n')));
});

test('limits count what the platform counts', () => {
  assert.equal(countText('é😀', 'utf16'), 3);
  assert.equal(countText('é😀', 'code_points'), 2);
  assert.equal(countText('é😀', 'bytes'), 6);
  assert.deepEqual(splitPlain('😀😀😀', 2, 'utf16'), ['😀', '😀', '😀']);
  assert.deepEqual(splitPlain('😀😀😀', 8, 'bytes'), ['😀😀', '😀']);
  assert.deepEqual(splitPlain('😀😀😀', 2, 'code_points'), ['😀😀', '😀']);
});

/** What follows a part must not be taken for code; asked of marked, which knows nothing of our fences. */
const endsOutsideCode = (part: string): boolean => lexer(`${part}\n\nafter`).at(-1)?.type === 'paragraph';

test('every part fits in its rendered form, nothing is lost, no character is halved and no code left open', () => {
  const word = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 30 }),
    fc.constantFrom('```', '```js', '~~~', '&<>&<>', '**b**', '\n', '# h'),
  );
  const text = fc.array(word, { maxLength: 120 }).map((words) => words.join('\n'));
  fc.assert(
    fc.property(
      text,
      fc.integer({ min: 150, max: 400 }),
      fc.constantFrom<TextUnit>('utf16', 'bytes', 'code_points'),
      (markdown, count, unit) => {
        const forms = (part: string) => [renderMarkdown(part, 'telegram_html'), part];
        const parts = splitMarkdown(markdown, { count, unit }, forms);
        for (const part of parts) {
          assert.ok(part.isWellFormed());
          for (const form of forms(part)) assert.ok(countText(form, unit) <= count, form);
        }
        for (const part of parts.slice(0, -1)) assert.ok(endsOutsideCode(part), part);
        const bare = (whole: string) => whole.replace(/^\s*(`{3,}|~{3,}).*$/gm, '').replace(/\s+/g, '');
        assert.equal(bare(parts.join('\n')), bare(markdown));
      },
    ),
    { numRuns: 500 },
  );
});

test('a megabyte is cut without taking long turns on one part', () => {
  const parts = splitMarkdown('word & '.repeat(150_000), { count: 4096, unit: 'utf16' }, (part) => [
    renderMarkdown(part, 'telegram_html'),
  ]);
  assert.ok(parts.length > 256);
});
