// Markdown as rows of a terminal: wrapped here, so that the painter knows exactly how many rows it wrote.

import { type MarkedToken, marked, type Token, type Tokens } from 'marked';
import { showInvisible } from '../core/untrusted.ts';
import { cutText, type Paint, type Span, type TextStyle, textWidth, wrapSpans } from './wrap.ts';

export const lexMarkdown = (text: string): Token[] => marked.lexer(showInvisible(text));

/** The rows of these blocks, with one empty row between them. */
export function markdownRows(tokens: readonly Token[], width: number, paint: Paint): string[] {
  const blocks = tokens.filter((token) => token.type !== 'space' && token.type !== 'def');
  return blocks.flatMap((token, index) => [...(index === 0 ? [] : ['']), ...blockRows(token, width, paint)]);
}

function blockRows(block: Token, width: number, paint: Paint): string[] {
  const token = block as MarkedToken;
  switch (token.type) {
    case 'heading':
      return wrapSpans(spansOf(token.tokens, ['bold']), width, paint);
    case 'code':
      return token.text
        .split('\n')
        .flatMap((line) => hardRows(line, width - 2))
        .map((row) => `  ${paint('cyan', row)}`);
    case 'blockquote':
      return markdownRows(token.tokens, width - 2, paint).map((row) => `${paint('dim', '│')} ${row}`);
    case 'list':
      return listRows(token, width, paint);
    case 'table':
      return tableRows(token, width, paint);
    case 'hr':
      return [paint('dim', '─'.repeat(Math.min(width, 40)))];
    case 'paragraph':
    case 'text':
      return wrapSpans(spansOf(token.tokens ?? [], [], token.text), width, paint);
    default:
      return wrapSpans([{ text: block.raw.trimEnd(), styles: [] }], width, paint);
  }
}

function listRows(list: Tokens.List, width: number, paint: Paint): string[] {
  const first = typeof list.start === 'number' ? list.start : 1;
  return list.items.flatMap((item, index) => {
    const box = item.task ? (item.checked ? '[x] ' : '[ ] ') : '';
    const mark = `${list.ordered ? `${first + index}.` : '-'} ${box}`;
    const inner = item.tokens
      .filter((token) => token.type !== 'space' && token.type !== 'checkbox')
      .flatMap((token) => blockRows(token, Math.max(10, width - mark.length), paint));
    return (inner.length === 0 ? [''] : inner).map((row, at) => (at === 0 ? mark : ' '.repeat(mark.length)) + row);
  });
}

function tableRows(table: Tokens.Table, width: number, paint: Paint): string[] {
  const cells = [table.header, ...table.rows].map((row) => row.map((cell) => plainOf(cell.tokens)));
  const columns = table.header.map((_, column) => Math.max(...cells.map((row) => textWidth(row[column] ?? ''))));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell + ' '.repeat(Math.max(0, (columns[column] ?? 0) - textWidth(cell))))
      .join('  ')
      .trimEnd();
  const [head = [], ...rest] = cells;
  const whole = [line(head), ...rest.map(line)];
  // A table wider than the screen is easier to read as it was written.
  if (whole.some((row) => textWidth(row) > width))
    return table.raw
      .trimEnd()
      .split('\n')
      .flatMap((row) => hardRows(row, width));
  return whole.map((row, index) => (index === 0 ? paint('bold', row) : row));
}

const plainOf = (tokens: readonly Token[]): string =>
  spansOf(tokens, [])
    .map((span) => span.text)
    .join('')
    .replaceAll('\n', ' ');

function spansOf(tokens: readonly Token[], styles: readonly TextStyle[], otherwise = ''): Span[] {
  if (tokens.length === 0) return otherwise === '' ? [] : [{ text: otherwise, styles }];
  return tokens.flatMap((inline): Span[] => {
    const token = inline as MarkedToken;
    switch (token.type) {
      case 'strong':
        return spansOf(token.tokens, [...styles, 'bold']);
      case 'em':
        return spansOf(token.tokens, [...styles, 'italic']);
      case 'del':
        return spansOf(token.tokens, [...styles, 'strikethrough']);
      case 'codespan':
        return [{ text: token.text, styles: [...styles, 'cyan'] }];
      case 'br':
        return [{ text: '\n', styles }];
      case 'link': {
        const label = spansOf(token.tokens, [...styles, 'underline']);
        const same = token.text === token.href || token.href === `mailto:${token.text}`;
        return same ? label : [...label, { text: ` (${token.href})`, styles: [...styles, 'dim'] }];
      }
      case 'image':
        return [{ text: `[image: ${token.text || token.href}]`, styles }];
      case 'text':
        return token.tokens ? spansOf(token.tokens, styles) : [{ text: token.text, styles }];
      case 'escape':
        return [{ text: token.text, styles }];
      default:
        return [{ text: inline.raw, styles }];
    }
  });
}

/** Cuts at the edge of the screen instead of between words: code keeps its shape. */
const hardRows = (line: string, width: number): string[] => {
  const plain = line.replaceAll('\t', '    ');
  return textWidth(plain) <= width ? [plain] : cutText(plain, width);
};
