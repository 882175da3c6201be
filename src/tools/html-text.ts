// HTML to text that a model reads with profit: headings, lists, links and code kept, everything else that is markup gone.
// One pass over the input, so that a hostile page costs no more than its length.

const INVISIBLE = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'iframe',
  'object',
  'head',
  'title',
  'canvas',
  'select',
]);
const BLOCKS = new Set([
  ...['address', 'article', 'aside', 'blockquote', 'body', 'br', 'dd', 'details', 'div', 'dl', 'dt', 'fieldset'],
  ...['figcaption', 'figure', 'footer', 'form', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'header', 'hr', 'html', 'li'],
  ...['main', 'nav', 'ol', 'p', 'section', 'summary', 'table', 'tbody', 'tfoot', 'thead', 'tr', 'ul'],
]);
const PARAGRAPHS = new Set([
  'p',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'blockquote',
  'table',
  'ul',
  'ol',
  'article',
  'section',
]);
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  copy: '©',
  reg: '®',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  laquo: '«',
  raquo: '»',
  bull: '•',
  middot: '·',
  euro: '€',
  times: '×',
};

export function htmlToText(html: string, base: URL): string {
  const out = createWriter();
  let hidden: string | undefined;
  let link: { href: string; from: number } | undefined;
  const title = /<title[^>]{0,200}>([^<]{1,500})/i.exec(html)?.[1];
  if (title) out.line(`# ${decodeEntities(title).trim()}`);

  for (const token of tokens(html)) {
    if (token.kind === 'text') {
      if (!hidden) out.text(decodeEntities(token.text));
      continue;
    }
    const { name, closing } = token;
    if (hidden) {
      if (closing && name === hidden) hidden = undefined;
      continue;
    }
    if (!closing && INVISIBLE.has(name) && !token.selfClosing) {
      hidden = name;
      continue;
    }
    if (name === 'a') {
      if (closing && link) out.closeLink(link);
      const href = closing ? undefined : URL.parse(decodeEntities(attribute(token.raw, 'href')), base.href);
      link = href && /^https?:$/.test(href.protocol) ? { href: href.href, from: out.mark() } : undefined;
    }
    if (name === 'pre') out.pre(!closing);
    if (name === 'img' && !closing) {
      const alternative = decodeEntities(attribute(token.raw, 'alt')).trim();
      if (alternative) out.text(`[image: ${alternative}]`);
    }
    if (name === 'td' || name === 'th') out.text(closing ? ' | ' : '');
    if (BLOCKS.has(name)) out.break(PARAGRAPHS.has(name));
    if (!closing && name === 'li') out.text('- ');
    if (!closing && /^h[1-6]$/.test(name)) out.text(`${'#'.repeat(Number(name[1]))} `);
  }
  return out.result();
}

type Token =
  | { kind: 'text'; text: string }
  | { kind: 'tag'; name: string; closing: boolean; selfClosing: boolean; raw: string };

function* tokens(html: string): Generator<Token> {
  // Inside these nothing but their own end tag is markup.
  let raw: string | undefined;
  for (let at = 0; at < html.length; ) {
    const open = raw === undefined ? html.indexOf('<', at) : indexOfEnd(html, raw, at);
    if (open === -1) {
      yield { kind: 'text', text: html.slice(at) };
      return;
    }
    if (open > at) yield { kind: 'text', text: html.slice(at, open) };
    if (html.startsWith('<!--', open)) {
      const end = html.indexOf('-->', open + 4);
      if (end === -1) return;
      at = end + 3;
      continue;
    }
    const name = /^<\/?([a-z][a-z0-9:-]{0,40})/i.exec(html.slice(open, open + 48))?.[1]?.toLowerCase();
    if (name === undefined && !/^<[!?/]/.test(html.slice(open, open + 2))) {
      yield { kind: 'text', text: '<' };
      at = open + 1;
      continue;
    }
    const end = endOfTag(html, open);
    if (end === -1) return;
    at = end + 1;
    if (name === undefined) continue;
    const closing = html[open + 1] === '/';
    raw = !closing && (name === 'script' || name === 'style') ? name : undefined;
    yield { kind: 'tag', name, closing, selfClosing: html[end - 1] === '/', raw: html.slice(open, end) };
  }
}

function indexOfEnd(html: string, name: string, from: number): number {
  for (let at = html.indexOf('</', from); at !== -1; at = html.indexOf('</', at + 2)) {
    if (html.slice(at + 2, at + 2 + name.length).toLowerCase() === name) return at;
  }
  return -1;
}

/** The `>` that ends the tag: one inside a quoted attribute does not. */
function endOfTag(html: string, open: number): number {
  let quote = '';
  for (let at = open + 1; at < html.length; at++) {
    const character = html.charAt(at);
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if ((character === '"' || character === "'") && html.charAt(at - 1) === '=') quote = character;
    else if (character === '>') return at;
  }
  return -1;
}

function attribute(tag: string, name: string): string {
  const found = new RegExp(`\\s${name}=(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(tag.slice(0, 8192));
  return found?.[1] ?? found?.[2] ?? found?.[3] ?? '';
}

function decodeEntities(text: string): string {
  return text.replace(/&(#x?[0-9a-f]{1,6}|[a-z]{2,8});/gi, (whole, body: string) => {
    if (!body.startsWith('#')) return ENTITIES[body.toLowerCase()] ?? whole;
    const code = body[1]?.toLowerCase() === 'x' ? Number.parseInt(body.slice(2), 16) : Number(body.slice(1));
    return Number.isInteger(code) && code > 0 && code <= 0x10ffff ? String.fromCodePoint(code).toWellFormed() : '';
  });
}

function createWriter() {
  const lines: string[] = [];
  let line = '';
  let preformatted = false;

  const end = (blank: boolean) => {
    const done = preformatted ? line.trimEnd() : line.replace(/[ \t]+/g, ' ').trim();
    if (done !== '' && !/^(-|#+|\|[ |]*)$/.test(done)) lines.push(done.replace(/ \|$/, ''));
    if (blank && lines.length > 0 && lines.at(-1) !== '') lines.push('');
    line = '';
  };
  return {
    text(text: string) {
      if (!preformatted) {
        line += text.replace(/\s+/g, ' ');
        return;
      }
      const [first = '', ...others] = text.split('\n');
      line += first;
      for (const next of others) {
        lines.push(line.trimEnd());
        line = next;
      }
    },
    line(text: string) {
      lines.push(text, '');
    },
    break: end,
    pre(on: boolean) {
      end(on);
      lines.push('```');
      if (!on) lines.push('');
      preformatted = on;
    },
    mark: () => line.length,
    /** Wraps what was written since the link was opened, unless a line ended in between. */
    closeLink(link: { href: string; from: number }) {
      const label = line.slice(link.from).trim();
      if (label !== '') line = `${line.slice(0, link.from)}[${label}](${link.href})`;
    },
    result() {
      end(false);
      return lines.join('\n').trim();
    },
  };
}
