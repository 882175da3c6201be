// The few tags that Telegram's HTML mode knows; everything else becomes lines of text.

import type { Dialect } from '../dialect.ts';
import { escapeHtml } from './html.ts';

export const telegramHtml: Dialect = {
  text: escapeHtml,
  strong: (inner) => `<b>${inner}</b>`,
  emphasis: (inner) => `<i>${inner}</i>`,
  strike: (inner) => `<s>${inner}</s>`,
  code: (raw) => `<code>${escapeHtml(raw)}</code>`,
  link: (inner, url) => `<a href="${escapeHtml(url)}">${inner}</a>`,
  lineBreak: '\n',
  codeBlock: (raw, language) =>
    language
      ? `<pre><code class="language-${language}">${escapeHtml(raw)}</code></pre>`
      : `<pre>${escapeHtml(raw)}</pre>`,
  heading: (inner) => `<b>${inner}</b>`,
  paragraph: (inner) => inner,
  // Quotes cannot be nested there; the inner one loses its tags and keeps its text.
  quote: (inner) => `<blockquote>${inner.replace(/<\/?blockquote>/g, '')}</blockquote>`,
  listItem: (inner, marker, depth) => `${'  '.repeat(depth)}${marker} ${inner}`,
  list: (items) => items.join('\n'),
  rule: '────',
  between: '\n\n',
};
