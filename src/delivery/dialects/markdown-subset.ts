// Markdown without what most chats do not draw: tables become code blocks, images links, HTML is shown as text.

import type { Dialect } from '../dialect.ts';

const fenceFor = (raw: string): string => {
  const longest = Math.max(2, ...[...raw.matchAll(/`+/g)].map((match) => match[0].length));
  return '`'.repeat(longest + 1);
};

export const markdownSubset: Dialect = {
  // Text that Markdown took for text is taken for text again; several of these chats show a backslash as it is.
  text: (raw) => raw,
  escaped: (source) => source,
  strong: (inner) => `**${inner}**`,
  emphasis: (inner) => `*${inner}*`,
  strike: (inner) => `~~${inner}~~`,
  code: (raw) => (raw.includes('`') ? `\`\` ${raw} \`\`` : `\`${raw}\``),
  link: (inner, url) => `[${inner}](${url.replaceAll(')', '%29').replaceAll(' ', '%20')})`,
  lineBreak: '\n',
  codeBlock: (raw, language) => {
    const fence = fenceFor(raw);
    return `${fence}${language}\n${raw}\n${fence}`;
  },
  heading: (inner, level) => `${'#'.repeat(Math.min(level, 3))} ${inner}`,
  paragraph: (inner) => inner,
  quote: (inner) => inner.replace(/^/gm, '> '),
  listItem: (inner, marker, depth) => `${'  '.repeat(depth)}${marker === '•' ? '-' : marker} ${inner}`,
  list: (items) => items.join('\n'),
  rule: '---',
  between: '\n\n',
};
