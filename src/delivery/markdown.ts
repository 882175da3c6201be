// Markdown from the agent becomes the markup of a platform: marked reads it, a dialect writes it.
// A dialect says how each thing looks; the walk over the tokens is the same for all of them.

import { lexer, type Token, type Tokens } from 'marked';
import type { Dialect } from './dialect.ts';
import { html } from './dialects/html.ts';
import { markdownSubset } from './dialects/markdown-subset.ts';
import { mrkdwn } from './dialects/mrkdwn.ts';
import { plain } from './dialects/plain.ts';
import { telegramHtml } from './dialects/telegram-html.ts';
import { whatsapp } from './dialects/whatsapp.ts';

const DIALECTS = {
  plain,
  html,
  telegram_html: telegramHtml,
  mrkdwn,
  whatsapp,
  markdown: markdownSubset,
} as const satisfies Record<string, Dialect>;

/** `gfm` platforms read Markdown as the agent writes it. */
export type DialectName = keyof typeof DIALECTS | 'gfm';

export function renderMarkdown(markdown: string, name: DialectName): string {
  if (name === 'gfm') return markdown;
  const dialect = DIALECTS[name];
  return blocks(lexer(markdown, { gfm: true }), dialect, 0);
}

function blocks(tokens: readonly Token[], dialect: Dialect, depth: number): string {
  const written = tokens.map((token) => block(token, dialect, depth)).filter((text) => text !== '');
  return written.join(dialect.between);
}

function block(token: Token, dialect: Dialect, depth: number): string {
  switch (token.type) {
    case 'space':
    case 'def':
      return '';
    case 'heading':
      return dialect.heading(inline(token.tokens, dialect), (token as Tokens.Heading).depth);
    case 'paragraph':
      return dialect.paragraph(inline(token.tokens, dialect));
    case 'code':
      return dialect.codeBlock(textOf(token), languageOf(token as Tokens.Code));
    case 'blockquote':
      return dialect.quote(blocks(token.tokens ?? [], dialect, depth));
    case 'list':
      return list(token as Tokens.List, dialect, depth);
    case 'hr':
      return dialect.rule;
    case 'table':
      return table(token as Tokens.Table, dialect);
    case 'text':
      return token.tokens ? inline(token.tokens, dialect) : dialect.text(textOf(token));
    default:
      // HTML and whatever else: shown as the text it is, never passed through.
      return dialect.paragraph(dialect.text(token.raw.trimEnd()));
  }
}

function list(token: Tokens.List, dialect: Dialect, depth: number): string {
  const first = typeof token.start === 'number' ? token.start : 1;
  const items = token.items.map((item, index) => {
    const marker = item.task ? (item.checked ? '☑' : '☐') : token.ordered ? `${first + index}.` : '•';
    const tokens = item.tokens.filter((inner) => inner.type !== 'checkbox');
    const inner = tokens.map((inner) => block(inner, dialect, depth + 1)).filter((text) => text !== '');
    return dialect.listItem(inner.join('\n'), marker, depth);
  });
  return dialect.list(items, token.ordered);
}

function table(token: Tokens.Table, dialect: Dialect): string {
  const rows = [token.header, ...token.rows];
  if (dialect.table) return dialect.table(rows.map((row) => row.map((cell) => inline(cell.tokens, dialect))));
  const cells = rows.map((row) => row.map((cell) => inline(cell.tokens, plain)));
  const widths = token.header.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return dialect.codeBlock(lines.join('\n'), '');
}

function inline(tokens: readonly Token[] | undefined, dialect: Dialect): string {
  return (tokens ?? []).map((token) => inlineOne(token, dialect)).join('');
}

function inlineOne(token: Token, dialect: Dialect): string {
  switch (token.type) {
    case 'strong':
      return dialect.strong(inline(token.tokens, dialect));
    case 'em':
      return dialect.emphasis(inline(token.tokens, dialect));
    case 'del':
      return dialect.strike(inline(token.tokens, dialect));
    case 'codespan':
      return dialect.code(textOf(token));
    case 'br':
      return dialect.lineBreak;
    case 'link':
      return link(token as Tokens.Link, dialect);
    case 'image': {
      const { text, href } = token as Tokens.Image;
      return linkTo(dialect.text(text || 'image'), href, dialect);
    }
    case 'escape':
      return dialect.escaped ? dialect.escaped(token.raw) : dialect.text(textOf(token));
    case 'text':
      return token.tokens ? inline(token.tokens, dialect) : dialect.text(textOf(token));
    default:
      return dialect.text(token.raw);
  }
}

function link(token: Tokens.Link, dialect: Dialect): string {
  // A bare address is shown once.
  if (token.text === token.href || `mailto:${token.text}` === token.href) return dialect.text(token.text);
  return linkTo(inline(token.tokens, dialect), token.href, dialect);
}

/** Only addresses that are safe to click become links. */
function linkTo(inner: string, href: string, dialect: Dialect): string {
  return /^(https?|mailto|tel):/i.test(href) ? dialect.link(inner, href) : `${inner}${dialect.text(` (${href})`)}`;
}

const textOf = (token: Token): string => ('text' in token && typeof token.text === 'string' ? token.text : token.raw);

const languageOf = (token: Tokens.Code): string => /^[\w+#.-]{1,32}/.exec(token.lang ?? '')?.[0] ?? '';
