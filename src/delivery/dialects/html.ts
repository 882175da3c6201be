// Whole HTML, for mail and Matrix.

import type { Dialect } from '../dialect.ts';

export const escapeHtml = (raw: string): string =>
  raw.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

export const html: Dialect = {
  text: (raw) => escapeHtml(raw).replaceAll('\n', '<br>\n'),
  strong: (inner) => `<strong>${inner}</strong>`,
  emphasis: (inner) => `<em>${inner}</em>`,
  strike: (inner) => `<del>${inner}</del>`,
  code: (raw) => `<code>${escapeHtml(raw)}</code>`,
  link: (inner, url) => `<a href="${escapeHtml(url)}">${inner}</a>`,
  lineBreak: '<br>\n',
  codeBlock: (raw, language) =>
    `<pre><code${language ? ` class="language-${language}"` : ''}>${escapeHtml(raw)}</code></pre>`,
  heading: (inner, level) => `<h${level}>${inner}</h${level}>`,
  paragraph: (inner) => `<p>${inner}</p>`,
  quote: (inner) => `<blockquote>\n${inner}\n</blockquote>`,
  listItem: (inner, marker) => `<li>${/^[☑☐]$/.test(marker) ? `${marker} ` : ''}${inner}</li>`,
  list: (items, ordered) => {
    const tag = ordered ? 'ol' : 'ul';
    return `<${tag}>\n${items.join('\n')}\n</${tag}>`;
  },
  rule: '<hr>',
  table: (rows) => {
    const lines = rows.map((row, index) => {
      const tag = index === 0 ? 'th' : 'td';
      return `<tr>${row.map((cell) => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;
    });
    return `<table>\n${lines.join('\n')}\n</table>`;
  },
  between: '\n',
};
