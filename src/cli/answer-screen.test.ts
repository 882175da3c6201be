import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { createAnswerScreen } from './answer-screen.ts';
import { lexMarkdown, markdownRows } from './markdown-rows.ts';
import { cutText, textWidth, wrapSpans } from './wrap.ts';

const plain = (_style: unknown, text: string): string => text;
const marked = (style: string, text: string): string => `<${style}>${text}</${style}>`;

/** As much of a terminal as the painter uses: lines, carriage return, cursor up, erase below. */
function emulator(columns: number, rows: number) {
  const lines: string[] = [''];
  let row = 0;
  let column = 0;
  let bytes = 0;
  return {
    columns,
    rows,
    bytes: () => bytes,
    lines: () => lines.map((line) => line.trimEnd()),
    write(text: string) {
      bytes += text.length;
      for (const [token] of text.matchAll(/\p{Cc}\[\d*[AJ]|[\s\S]/gu)) {
        const move = /\[(\d*)([AJ])$/.exec(token);
        if (move?.[2] === 'A') {
          row -= Number(move[1]);
          assert.ok(row > lines.length - 1 - rows, 'the cursor stays on the screen');
        } else if (move) {
          lines[row] = (lines[row] ?? '').slice(0, column);
          lines.length = row + 1;
        } else if (token === '\r') column = 0;
        else if (token === '\n') {
          row++;
          column = 0;
          lines[row] ??= '';
        } else {
          const line = lines[row] ?? '';
          lines[row] = line.slice(0, column) + token + line.slice(column + token.length);
          column += token.length;
          assert.ok(column < columns, 'no row is as wide as the screen');
        }
      }
    },
  };
}

const ANSWER = `# Title

A paragraph with **bold**, *italic*, \`code\` and a [link](https://site.example/a) that is long enough to wrap around.
Second line of it.

- one
- two
  - nested

1. first
2. second

\`\`\`ts
const x = 1;
  if (x) y();
\`\`\`

> quoted

| a | b |
|---|---|
| 1 | two |

The end.`;

test('a streamed answer ends up on the screen as if it had come at once, whatever the pieces', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const expected = [...markdownRows(lexMarkdown(ANSWER), 49, plain), ''];
    for (const size of [1, 2, 3, 7, 20, 1000]) {
      const screen = emulator(50, 100);
      const answer = createAnswerScreen(screen, plain);
      for (let at = 0; at < ANSWER.length; at += size) {
        answer.add(ANSWER.slice(at, at + size));
        mock.timers.tick(50);
      }
      answer.end();
      assert.deepEqual(screen.lines(), expected, `pieces of ${size}`);
    }
  } finally {
    mock.timers.reset();
  }
});

test('only the open block is written again: the cost of an answer grows with its length, not with its square', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const paragraph = `${'some words in a row '.repeat(10)}\n\n`;
    const cost = (paragraphs: number) => {
      const screen = emulator(80, 100);
      const answer = createAnswerScreen(screen, plain);
      for (const piece of paragraph.repeat(paragraphs).match(/[\s\S]{1,20}/g) ?? []) {
        answer.add(piece);
        mock.timers.tick(50);
      }
      answer.end();
      return screen.bytes();
    };
    assert.ok(cost(80) < cost(20) * 5);
  } finally {
    mock.timers.reset();
  }
});

test('a block taller than the screen is written on without moving above its top', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const screen = emulator(40, 6);
    const answer = createAnswerScreen(screen, plain);
    const lines = Array.from({ length: 40 }, (_, index) => `line ${index}`);
    for (const line of ['```', ...lines, '```']) {
      answer.add(`${line}\n`);
      mock.timers.tick(50);
    }
    answer.end();
    assert.deepEqual(
      screen.lines().filter((line) => line.includes('line')),
      lines.map((line) => `  ${line}`),
    );
  } finally {
    mock.timers.reset();
  }
});

test('an answer without text writes nothing', () => {
  const screen = emulator(40, 10);
  const answer = createAnswerScreen(screen, plain);
  answer.add(' \n');
  answer.end();
  assert.equal(screen.bytes(), 0);
});

test('styles follow the text over the end of a row', () => {
  const rows = markdownRows(lexMarkdown('a **bold text** b'), 8, marked);
  assert.deepEqual(rows, ['a <bold>bold </bold>', '<bold>text</bold> b']);
});

test('tables too wide for the screen and unknown blocks are shown as they were written', () => {
  const table = '| one | two |\n|---|---|\n| a very long cell | b |';
  assert.deepEqual(markdownRows(lexMarkdown(table), 60, plain), ['one               two', 'a very long cell  b']);
  assert.equal(markdownRows(lexMarkdown(table), 12, plain)[0], '| one | two ');
  assert.deepEqual(markdownRows(lexMarkdown('<div>html</div>'), 60, plain), ['<div>html</div>']);
});

test('width counts cells: wide characters take two, joined ones as many as they show', () => {
  assert.equal(textWidth('abc'), 3);
  assert.equal(textWidth('日本'), 4);
  assert.equal(textWidth('e\u0301'), 1);
  assert.equal(textWidth('👍'), 2);
  assert.equal(textWidth('\u001b[1mx\u001b[22m'), 1);
});

test('words longer than a row are cut between characters', () => {
  assert.deepEqual(cutText('日本語', 4), ['日本', '語']);
  assert.deepEqual(wrapSpans([{ text: 'aa bbbbbbb cc', styles: [] }], 4, plain), ['aa', 'bbbb', 'bbb', 'cc']);
  assert.deepEqual(wrapSpans([{ text: 'one\ntwo', styles: [] }], 10, plain), ['one', 'two']);
});
