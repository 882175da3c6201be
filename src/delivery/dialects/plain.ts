// No markup at all: what remains reads well in a text message.

import type { Dialect } from '../dialect.ts';

const same = (text: string): string => text;

export const plain: Dialect = {
  text: same,
  strong: same,
  emphasis: same,
  strike: same,
  code: same,
  link: (inner, url) => (inner === url ? url : `${inner} (${url})`),
  lineBreak: '\n',
  codeBlock: same,
  heading: same,
  paragraph: same,
  quote: (inner) => inner.replace(/^/gm, '> '),
  listItem: (inner, marker, depth) => `${'  '.repeat(depth)}${marker} ${inner}`,
  list: (items) => items.join('\n'),
  rule: '----',
  table: (rows) => rows.map((row) => row.join(' | ')).join('\n'),
  between: '\n\n',
};
