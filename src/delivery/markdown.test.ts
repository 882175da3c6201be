import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type DialectName, renderMarkdown } from './markdown.ts';

const DIALECTS: DialectName[] = ['plain', 'html', 'telegram_html', 'mrkdwn', 'whatsapp', 'markdown'];
const TEXT = `# Report

**bold** *italic* ~~gone~~ \`a<b\` [link](https://example.org/?a=1&b=2) \\*star

> quoted

- one
  - inner
- [x] done

1. first

\`\`\`js
if (a < b) {}
\`\`\`

| a | bb |
|---|----|
| 1 | 2  |

---
<b onclick="x">raw</b>`;

const EXPECTED: Record<Exclude<DialectName, 'gfm'>, string> = {
  plain: `Report

bold italic gone a<b link (https://example.org/?a=1&b=2) *star

> quoted

• one
  • inner
☑ done

1. first

if (a < b) {}

a | bb
1 | 2

----

<b onclick="x">raw</b>`,
  html: `<h1>Report</h1>
<p><strong>bold</strong> <em>italic</em> <del>gone</del> <code>a&lt;b</code> <a href="https://example.org/?a=1&amp;b=2">link</a> *star</p>
<blockquote>
<p>quoted</p>
</blockquote>
<ul>
<li>one
<ul>
<li>inner</li>
</ul></li>
<li>☑ done</li>
</ul>
<ol>
<li>first</li>
</ol>
<pre><code class="language-js">if (a &lt; b) {}</code></pre>
<table>
<tr><th>a</th><th>bb</th></tr>
<tr><td>1</td><td>2</td></tr>
</table>
<hr>
<p>&lt;b onclick=&quot;x&quot;&gt;raw&lt;/b&gt;</p>`,
  telegram_html: `<b>Report</b>

<b>bold</b> <i>italic</i> <s>gone</s> <code>a&lt;b</code> <a href="https://example.org/?a=1&amp;b=2">link</a> *star

<blockquote>quoted</blockquote>

• one
  • inner
☑ done

1. first

<pre><code class="language-js">if (a &lt; b) {}</code></pre>

<pre>a  bb
1  2</pre>

────

&lt;b onclick=&quot;x&quot;&gt;raw&lt;/b&gt;`,
  mrkdwn: `*Report*

*bold* _italic_ ~gone~ \`a&lt;b\` <https://example.org/?a=1&amp;b=2|link> *star

> quoted

• one
    • inner
☑ done

1. first

\`\`\`
if (a &lt; b) {}
\`\`\`

\`\`\`
a  bb
1  2
\`\`\`

────

&lt;b onclick="x"&gt;raw&lt;/b&gt;`,
  whatsapp: `*Report*

*bold* _italic_ ~gone~ \`a<b\` link (https://example.org/?a=1&b=2) *star

> quoted

- one
  - inner
☑ done

1. first

\`\`\`if (a < b) {}\`\`\`

a | bb
1 | 2

----

<b onclick="x">raw</b>`,
  markdown: `# Report

**bold** *italic* ~~gone~~ \`a<b\` [link](https://example.org/?a=1&b=2) \\*star

> quoted

- one
  - inner
☑ done

1. first

\`\`\`js
if (a < b) {}
\`\`\`

\`\`\`
a  bb
1  2
\`\`\`

---

<b onclick="x">raw</b>`,
};

for (const [name, expected] of Object.entries(EXPECTED)) {
  test(`Markdown becomes ${name}`, () => {
    assert.equal(renderMarkdown(TEXT, name as DialectName), expected);
  });
}

test('a link that could run something is shown, not made', () => {
  for (const name of DIALECTS) {
    const text = renderMarkdown('[click](javascript:alert(1)) ![i](data:text/html,x)', name);
    assert.doesNotMatch(text, /href|<javascript|\]\(/, name);
    assert.match(text, /javascript:alert/, name);
  }
});

test('whatever the text, HTML dialects emit no tag that was not meant', () => {
  const text = fc.array(
    fc.constantFrom('<', '>', '&', '"', '*', '_', '`', '#', '\n', '|', '-', ' ', 'a', '[', '](', ')', '~~', '>'),
    {
      maxLength: 80,
    },
  );
  fc.assert(
    fc.property(text, (parts) => {
      for (const name of ['html', 'telegram_html'] as const) {
        const rendered = renderMarkdown(parts.join(''), name);
        const tags = [...rendered.matchAll(/<\/?([a-z0-9]+)/g)].map((match) => match[1]);
        const opened = rendered.match(/<(?!\/|br|hr)[a-z0-9]+/g)?.length ?? 0;
        const closed = rendered.match(/<\/[a-z0-9]+/g)?.length ?? 0;
        assert.equal(opened, closed, rendered);
        assert.ok(!rendered.replace(/<\/?[a-z0-9]+( href="[^"<>]*"| class="[^"<>]*")?>/g, '').includes('<'), rendered);
        assert.ok(tags.every((tag) => tag !== 'script'));
      }
    }),
    { numRuns: 500 },
  );
});
