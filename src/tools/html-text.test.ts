import assert from 'node:assert/strict';
import { test } from 'node:test';
import { htmlToText } from './html-text.ts';

const base = new URL('https://site.example/docs/');
const text = (html: string) => htmlToText(html, base);

test('headings, lists, links, tables and code keep their shape', () => {
  const html =
    '<h2>Head</h2><p>See <a href="../x?a=1&amp;b=2">this</a>.</p><ol><li>one<li>two</ol>' +
    '<pre>a  &lt;b&gt;\n  c</pre><table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>';
  assert.equal(
    text(html),
    '## Head\n\nSee [this](https://site.example/x?a=1&b=2).\n\n- one\n- two\n\n```\na  <b>\n  c\n```\n\nA | B\n1 | 2',
  );
});

test('scripts, styles, comments and hidden parts are left out, whatever they hold', () => {
  assert.equal(
    text('a<script>if (1<2) "</p>"</script><style>p{}</style><!-- <p>no --><svg><text>no</text></svg>b'),
    'ab',
  );
});

test('a link that could run something is only its text', () => {
  assert.equal(text('<a href="javascript:alert(1)">click</a> <a href="data:text/html,x">data</a>'), 'click data');
});

test('broken markup loses nothing that can be read', () => {
  assert.equal(
    text('<p>a < b and c > d <b>unclosed <p>next &unknown; &#x41; &#0;'),
    'a < b and c > d unclosed\n\nnext &unknown; A',
  );
  assert.equal(text('text <unfinished'), 'text');
  assert.equal(text(''), '');
});

test('a quoted > does not end a tag', () => {
  assert.equal(text('<img alt="a > b" src=x>after'), '[image: a > b]after');
});

test('a long run of anything is read in one go', () => {
  for (const piece of [
    '<',
    '<a ',
    '&',
    '<!--',
    '<a href="',
    '<script></',
    '</x',
    '<pre>\n',
    '<title',
    '<li>',
    '<a href=x>y',
  ]) {
    assert.equal(typeof text(piece.repeat(Math.ceil(300_000 / piece.length))), 'string');
  }
});
