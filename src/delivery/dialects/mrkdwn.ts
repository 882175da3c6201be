// Slack's mrkdwn: one star is bold, three characters are escaped, links stand in angle brackets.

import type { Dialect } from '../dialect.ts';

const escapeText = (raw: string): string =>
  raw.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

export const mrkdwn: Dialect = {
  text: escapeText,
  strong: (inner) => `*${inner}*`,
  emphasis: (inner) => `_${inner}_`,
  strike: (inner) => `~${inner}~`,
  code: (raw) => `\`${escapeText(raw)}\``,
  link: (inner, url) => `<${escapeText(url).replaceAll('|', '%7C')}|${inner.replaceAll('|', '¦')}>`,
  lineBreak: '\n',
  codeBlock: (raw) => `\`\`\`\n${escapeText(raw)}\n\`\`\``,
  // A heading that is bold already would double its stars.
  heading: (inner) => `*${inner.replaceAll('*', '')}*`,
  paragraph: (inner) => inner,
  quote: (inner) => inner.replace(/^/gm, '> '),
  listItem: (inner, marker, depth) => `${'    '.repeat(depth)}${marker} ${inner}`,
  list: (items) => items.join('\n'),
  rule: '────',
  between: '\n\n',
};
