// Breaks styled text into rows that fit the screen, counting cells as a terminal does.

import { stripVTControlCharacters } from 'node:util';

export type TextStyle = 'bold' | 'italic' | 'underline' | 'strikethrough' | 'cyan' | 'dim';
/** Puts a style on a text, or leaves it as it is where there are no colours. */
export type Paint = (style: TextStyle, text: string) => string;

/** A piece of a line in one style. */
export interface Span {
  text: string;
  styles: readonly TextStyle[];
}

const graphemes = new Intl.Segmenter();
const WIDE =
  /^(?:\p{Emoji_Presentation}|\p{Regional_Indicator}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}])|\ufe0f/u;
const ZERO = /^[\p{Mn}\p{Me}\u200b-\u200f]+$/u;

/** Cells that the text takes; styles take none. */
export function textWidth(text: string): number {
  const plain = stripVTControlCharacters(text);
  // Most text is plain ASCII, and this runs for every word that streams in.
  if (/^[ -~]*$/.test(plain)) return plain.length;
  let width = 0;
  for (const { segment } of graphemes.segment(plain)) width += cellsOf(segment);
  return width;
}

/** Rows of at most `width` cells, broken between words where there is one, with every span in its styles. */
export function wrapSpans(spans: readonly Span[], width: number, paint: Paint): string[] {
  const rows: string[] = [];
  let row = '';
  let used = 0;
  const end = () => {
    rows.push(row.trimEnd());
    row = '';
    used = 0;
  };
  const styled = (text: string, span: Span) => span.styles.reduce((done, style) => paint(style, done), text);
  for (const span of spans) {
    for (const piece of span.text.split(/(\n)|(?<=\s)(?=\S)/).filter((part) => part !== undefined && part !== '')) {
      if (piece === '\n') {
        end();
        continue;
      }
      const word = piece.replaceAll('\t', '    ').replaceAll('\n', ' ');
      const bare = textWidth(word.trimEnd());
      if (used > 0 && used + bare > width) end();
      for (const part of bare > width ? cutText(word, width) : [word]) {
        if (used > 0 && used + textWidth(part.trimEnd()) > width) end();
        row += styled(part, span);
        used += textWidth(part);
      }
    }
  }
  if (row !== '' || rows.length === 0) end();
  return rows;
}

/** Pieces of at most `width` cells, cut between characters. */
export function cutText(word: string, width: number): string[] {
  const parts: string[] = [];
  let part = '';
  let used = 0;
  for (const { segment } of graphemes.segment(word)) {
    const cells = cellsOf(segment);
    if (used + cells > width && part !== '') {
      parts.push(part);
      part = '';
      used = 0;
    }
    part += segment;
    used += cells;
  }
  return part === '' ? parts : [...parts, part];
}

function cellsOf(grapheme: string): number {
  if (ZERO.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}
