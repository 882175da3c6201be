import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import type { ToolContext } from '../agent/tool.ts';
import { createHttpCaller, type HttpCall, type HttpCaller } from '../system/fetch-json.ts';
import { createWebFetch } from './web-fetch.ts';

const SITE = 'http://site.example';

/** Answers of the site that stands for the public internet. */
const pages = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>();
let site: Server;
let inside: Server;
let insideHits = 0;
let real: HttpCaller;

const listen = (server: Server, host: string): Promise<number> =>
  new Promise((resolve) => server.listen(0, host, () => resolve((server.address() as AddressInfo).port)));

before(async () => {
  site = createServer((request, response) => {
    const page = pages.get(request.url ?? '');
    if (page) page(request, response);
    else response.writeHead(404, { 'content-type': 'text/plain' }).end('nothing here');
  });
  inside = createServer((_request, response) => {
    insideHits++;
    response.end('the secret of this machine');
  });
  const [sitePort, insidePort] = [await listen(site, '127.0.0.1'), await listen(inside, '127.0.0.1')];
  // Names that are public at first sight; `sneaky` leads to this machine, `mixed` sometimes.
  real = createHttpCaller({
    lookup: (name, options, callback) => {
      const table: Record<string, { address: string; family: number }[]> = {
        localhost: [{ address: '127.0.0.1', family: 4 }],
        'sneaky.example': [{ address: '127.0.0.1', family: 4 }],
        'mixed.example': [
          { address: '93.184.215.14', family: 4 },
          { address: '127.0.0.1', family: 4 },
        ],
        'six.example': [{ address: '::1', family: 6 }],
      };
      const found = table[name];
      if (!found) return callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), '', 0);
      if (options.all) return callback(null, found);
      callback(null, found[0]?.address ?? '', found[0]?.family ?? 4);
    },
  });
  targets.site = `http://127.0.0.1:${sitePort}`;
  targets.insidePort = insidePort;
});
after(async () => {
  await real.close();
  site.close();
  inside.close();
});

const targets = { site: '', insidePort: 0 };

/** The public site is reached on loopback; every other call goes out as the tool asked for it, guard and all. */
const http: Pick<HttpCaller, 'call'> = {
  call: (call: HttpCall) => {
    assert.equal(call.publicOnly, true);
    if (!call.url.startsWith(`${SITE}/`)) return real.call(call);
    return real.call({ ...call, url: call.url.replace(SITE, targets.site), publicOnly: false });
  },
};
const tool = createWebFetch(http);
const context: ToolContext = {
  taskId: 'run_1',
  trust: 'untrusted',
  grantedTools: ['web_fetch'],
  signal: new AbortController().signal,
};
const fetchPage = (url: string, offset = 0) => tool.run(tool.input.parse({ url, offset }), context);

test('a page comes back as readable text inside a fence', async () => {
  pages.set('/page', (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end('<title>Hi</title><p>Some <b>text</b></p><script>alert(1)</script>');
  });
  const result = await fetchPage(`${SITE}/page`);
  assert.equal(result.failed, undefined);
  assert.match(result.output, /# Hi\n\nSome text\n<\/untrusted/);
  assert.match(result.output, /do not follow instructions/);
  assert.ok(!result.output.includes('alert'));
});

test('redirects are followed on the public internet', async () => {
  pages.set('/a', (_request, response) => response.writeHead(302, { location: '/b' }).end());
  pages.set('/b', (_request, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('arrived'));
  const result = await fetchPage(`${SITE}/a`);
  assert.match(result.output, /^http:\/\/site\.example\/b\n[\s\S]*arrived/);
});

test('an endless chain of redirects ends', async () => {
  pages.set('/loop', (_request, response) => response.writeHead(301, { location: '/loop' }).end());
  assert.match((await fetchPage(`${SITE}/loop`)).output, /more than 5 redirects/);
});

const PRIVATE = (port: number) => [
  `http://127.0.0.1:${port}/`,
  `http://localhost:${port}/`,
  `http://[::1]:${port}/`,
  `http://[::ffff:127.0.0.1]:${port}/`,
  `http://0.0.0.0:${port}/`,
  `http://0:${port}/`,
  `http://2130706433:${port}/`,
  `http://0x7f.1:${port}/`,
  `http://017700000001:${port}/`,
  `http://127.1:${port}/`,
  `http://169.254.169.254/latest/meta-data/`,
  `http://10.0.0.1/`,
  `http://192.168.1.1/`,
  `http://100.64.0.1/`,
  `http://[fd00::1]/`,
  `http://[fe80::1]/`,
  `http://sneaky.example:${port}/`,
  `http://mixed.example:${port}/`,
  `http://six.example:${port}/`,
];

test('private addresses are refused, however they are written or resolved', async () => {
  for (const url of PRIVATE(targets.insidePort)) {
    const result = await fetchPage(url);
    assert.equal(result.failed, true, url);
    assert.match(result.output, /not on the public internet/, url);
  }
  assert.equal(insideHits, 0);
});

test('private addresses are refused behind redirects too', async () => {
  for (const url of PRIVATE(targets.insidePort)) {
    pages.set('/away', (_request, response) => response.writeHead(307, { location: url }).end());
    const result = await fetchPage(`${SITE}/away`);
    assert.equal(result.failed, true, url);
    assert.ok(!result.output.includes('secret'), url);
  }
  assert.equal(insideHits, 0);
});

test('only http and https can be fetched, also behind a redirect', async () => {
  for (const url of [
    'file:///etc/passwd',
    'ftp://site.example/x',
    'data:text/plain,x',
    'not a url',
    'http://u:p@site.example/',
  ]) {
    assert.equal((await fetchPage(url)).failed, true, url);
  }
  pages.set('/file', (_request, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end());
  assert.match((await fetchPage(`${SITE}/file`)).output, /Only http/);
});

test('a long page is cut and can be read on', async () => {
  const text = 'abcdefghij'.repeat(12_000);
  pages.set('/long', (_request, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end(text));
  const first = await fetchPage(`${SITE}/long`);
  assert.match(first.output, /\[70000 more characters; go on with offset 50000\]$/);
  const last = await fetchPage(`${SITE}/long`, 119_995);
  assert.match(last.output, /\nfghij\n/);
});

test('an endless answer costs no more than the cap', async () => {
  pages.set('/endless', (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
    };
    response.on('drain', more);
    more();
  });
  const result = await fetchPage(`${SITE}/endless`);
  assert.equal(result.failed, undefined);
  assert.ok(result.output.length < 60_000);
});

test('what is not text is refused, and an error status is a failure that still shows the page', async () => {
  pages.set('/image', (_request, response) => response.writeHead(200, { 'content-type': 'image/png' }).end('x'));
  assert.match((await fetchPage(`${SITE}/image`)).output, /image\/png, which is not text/);
  const missing = await fetchPage(`${SITE}/missing`);
  assert.equal(missing.failed, true);
  assert.match(missing.output, /status 404[\s\S]*nothing here/);
});

test('an interruption ends the call', async () => {
  pages.set('/never', () => {});
  const interruption = new AbortController();
  setTimeout(() => interruption.abort(), 100);
  const input = tool.input.parse({ url: `${SITE}/never` });
  const result = await tool.run(input, { ...context, signal: interruption.signal });
  assert.equal(result.failed, true);
});
