// The lifecycle of supervisors and the capabilities of each kind of backend, with real browsers and real sockets.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { WebSocketServer } from 'ws';
import type { BrowserResult } from '../../src/browser/task-browser.ts';
import { scenarioPages } from '../support/browser-scenarios.ts';
import { chromiumOrSkip, openTheatre, Stage, type Theatre } from '../support/browser-stage.ts';
import { startCuttableProxy } from '../support/cuttable-proxy.ts';
import { makeCertificate, noCertificates } from '../support/localhost-certificate.ts';
import { SITE_FLAGS, startSites } from '../support/sites.ts';

const executable = await chromiumOrSkip();
const skip = executable === undefined ? 'no Chromium on this machine' : false;

function codeOf(result: BrowserResult): string | undefined {
  return result.success ? undefined : result.error.code;
}

async function answering(
  answer: (path: string, body: string) => unknown,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const value = answer(`${request.method} ${request.url}`, body);
    response.writeHead(value === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(Buffer.isBuffer(value) ? value : JSON.stringify(value ?? {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Processes whose command line holds this text. */
async function processesWith(text: string): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const line = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '');
    if (line.includes(text)) found.push(Number(name));
  }
  return found;
}

/** They were killed, but a busy machine takes a moment to bury them. */
async function noneWith(text: string): Promise<void> {
  for (let tries = 0; tries < 100 && (await processesWith(text)).length > 0; tries++) await sleep(100);
  assert.deepEqual(await processesWith(text), []);
}

describe('a browser that runs already', { skip }, () => {
  let theatre: Theatre;
  before(async () => {
    theatre = await openTheatre(scenarioPages);
  });
  after(() => theatre.close());

  test('starting twice keeps the supervisor, another address stops the old one first, ending leaves nothing', async () => {
    const stage = new Stage(theatre);
    const other = await openTheatre(scenarioPages);
    try {
      const first = await stage.browsers.start(stage.context);
      assert.equal(await stage.browsers.start(stage.context), first);
      await stage.open('a', '/errors');
      assert.ok((await stage.state()).consoleErrors.length > 0);
      const second = await stage.browsers.connect(stage.context, other.address);
      assert.notEqual(second, first);
      assert.equal(first.kind === 'cdp' && first.state.link.kind, 'stopped');
      assert.deepEqual(second.kind === 'cdp' && second.state.consoleErrors, []);
      await stage.browsers.end(stage.context.taskId);
      assert.equal(stage.browsers.running(stage.context.taskId), undefined);
      assert.equal(second.kind === 'cdp' && second.state.link.kind, 'stopped');
    } finally {
      await stage.close();
      await other.close();
    }
  });

  test('a port, an http address and a page address all lead to the whole browser', async () => {
    const { port } = new URL(theatre.address);
    for (const address of [
      port,
      `http://127.0.0.1:${port}`,
      `ws://127.0.0.1:${port}/devtools/page/nobody`,
      `ws://127.0.0.1:${port}/devtools/browser/of-an-earlier-launch`,
    ]) {
      const stage = new Stage(theatre, { config: { cdp_url: address } });
      assert.equal((await stage.open('a', '/other')).title, 'other', address);
      await stage.browsers.stop();
    }
  });

  test('a lost connection closes its dialogs as remote and is reached anew, where the dialog blocks unseen', async () => {
    const proxy = await startCuttableProxy(Number(new URL(theatre.address).port));
    const stage = new Stage(theatre, { config: { cdp_url: `http://127.0.0.1:${proxy.port}` } });
    try {
      await stage.open('a', '/ask');
      await stage.clickOn('button "confirm"');
      proxy.cut();
      const lost = await stage.until('the loss', (state) => state.pendingDialogs.length === 0);
      assert.equal(lost.recentDialogs.at(-1)?.closedBy, 'remote');
      await stage.until(
        'the new connection',
        ({ link, pages }) => link.kind === 'connected' && link.ready && pages.size > 0,
      );
      await stage.until('the probe', (state) => [...state.pages.values()].some((page) => page.answers.kind === 'no'));
      assert.equal((await stage.open('a', '/other')).title, 'other');
    } finally {
      await stage.close();
      await proxy.close();
    }
  });

  test('a hosted address is asked for again before every connection', async () => {
    const { port, pathname } = new URL(theatre.address);
    const proxy = await startCuttableProxy(Number(port));
    const asked: string[] = [];
    const provider = await answering((path, body) => {
      asked.push(`${path} ${body}`);
      return { session: { ws: `ws://127.0.0.1:${proxy.port}${pathname}` } };
    });
    const hosted = {
      session_url: `${provider.url}/sessions`,
      session_body: { region: 'x' },
      cdp_url_field: 'session.ws',
    };
    const stage = new Stage(theatre, { config: { hosted } });
    try {
      assert.equal((await stage.open('a', '/other')).title, 'other');
      proxy.cut();
      await stage.until('the loss', ({ link }) => link.kind !== 'connected');
      await stage.until('the new connection', ({ link, pages }) => link.kind === 'connected' && pages.size > 0);
      assert.deepEqual(asked, Array(2).fill('POST /sessions {"region":"x"}'));
    } finally {
      await stage.close();
      await proxy.close();
      await provider.close();
    }
  });

  test('an address that answers something else fails with a code and the next step', async () => {
    const web = await answering(() => ({ hello: 'world' }));
    const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    sockets.on('connection', (socket) =>
      socket.on('message', () => socket.send('{"id":1,"error":{"message":"what?"}}')),
    );
    await once(sockets, 'listening');
    const address = sockets.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    try {
      for (const cdp_url of [web.url, `ws://127.0.0.1:${port}/x`, 'http://127.0.0.1:1', 'ftp://nowhere']) {
        const stage = new Stage(theatre, { config: { cdp_url } });
        const result = await stage.call('snapshot');
        assert.match(String(codeOf(result)), /^(browser_gone|invalid_input)$/, cdp_url);
        assert.ok(!result.success && result.error.help.length > 0);
        await stage.browsers.stop();
      }
    } finally {
      await web.close();
      sockets.close();
    }
  });

  test('a browser that speaks nonsense in between is lived with', async () => {
    const stage = new Stage(theatre);
    const upstream = theatre.address;
    const { WebSocket } = await import('ws');
    const relay = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    relay.on('connection', (near) => {
      const far = new WebSocket(upstream);
      const early: string[] = [];
      near.on('message', (data) => (far.readyState === 1 ? far.send(String(data)) : early.push(String(data))));
      far.on('open', () => {
        for (const data of early) far.send(data);
      });
      far.on('message', (data) => {
        for (const noise of [
          'not json',
          '7',
          'null',
          '{"id":999999,"result":{}}',
          '{"method":"Page.frameNavigated","params":{}}',
          '{"method":5}',
          '{"method":"No.such","params":null,"sessionId":9}',
        ])
          near.send(noise);
        near.send(String(data));
      });
      near.on('close', () => far.close());
    });
    await once(relay, 'listening');
    const address = relay.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    try {
      await stage.browsers.connect(stage.context, `ws://127.0.0.1:${port}/x`);
      assert.equal((await stage.open('a', '/other')).title, 'other');
    } finally {
      await stage.close();
      relay.close();
    }
  });

  test('an untrusted task reaches no private address: not directly, not in a frame, not in a popup, not by a redirect', async () => {
    const seen: string[] = [];
    const secret = await startSites((_site, url) => {
      if (url.pathname === '/to') return { status: 302, headers: { location: url.search.slice(1) } };
      seen.push(url.pathname);
      return { body: '<title>secret</title>' };
    });
    // To the guard every name is on the internet; what is reached by number is not.
    const stage = new Stage(theatre, { trust: 'untrusted', lookUp: async () => ['93.184.215.14'] });
    const inside = (path: string) => `http://127.0.0.1:${secret.port}${path}`;
    try {
      assert.equal(codeOf(await stage.call('navigate', { url: inside('/direct') })), 'invalid_input');
      assert.equal(codeOf(await stage.call('navigate', { url: 'file:///etc/passwd' })), 'invalid_input');
      const html = `<title>outside</title><iframe src="${inside('/frame')}"></iframe><img src="${inside('/image')}"><button onclick="window.open('${inside('/popup')}')">pop</button><button onclick="location.href='${inside('/script')}'">go</button>`;
      assert.equal(
        (await stage.call('navigate', { url: `data:text/html,${encodeURIComponent(html)}` })).title,
        'outside',
      );
      await stage.clickOn('button "pop"');
      await stage.clickOn('button "go"');
      assert.equal(codeOf(await stage.call('cdp', { method: 'Fetch.disable' })), 'cdp_error');
      await stage.call('cdp', { method: 'Page.navigate', params: { url: inside('/cdp') } });
      assert.equal((await stage.open('a', '/other')).title, 'other');
      assert.equal(
        codeOf(await stage.call('navigate', { url: secret.url('a', `/to?${inside('/redirect')}`) })),
        'invalid_input',
      );
      await sleep(300);
      assert.deepEqual(seen, []);
    } finally {
      await stage.close();
      await secret.close();
    }
  });
});

describe('files of this machine', { skip }, () => {
  let theatre: Theatre;
  let file: string;
  before(async () => {
    theatre = await openTheatre(scenarioPages);
    file = join(theatre.folder, 'secret.html');
    await writeFile(file, '<title>hunter2</title><p>hunter2');
  });
  after(() => theatre.close());

  const tasks = [
    { trust: 'person' },
    { trust: 'person', config: { allow_private: true } },
    { trust: 'untrusted', config: { allow_private: true } },
  ] as const;
  for (const task of tasks) {
    test(`nobody opens or uploads them: ${JSON.stringify(task)}`, async () => {
      const stage = new Stage(theatre, task);
      try {
        await stage.open('a', '/other');
        const addresses = [
          `file://${file}`,
          `FILE://${file}`,
          ` file:${file}`,
          `view-source:file://${file}`,
          'chrome://version',
          'about:version',
          'devtools://devtools/bundled/inspector.html',
          'filesystem:http://localhost/temporary/x',
          'javascript:alert(1)',
        ];
        for (const url of addresses) {
          assert.equal(codeOf(await stage.call('navigate', { url })), 'invalid_input', url);
          assert.equal(codeOf(await stage.call('tabs', { action: 'new', url })), 'invalid_input', url);
          const going = await stage.call('cdp', { method: 'Page.navigate', params: { url } });
          assert.equal(codeOf(going), 'invalid_input', url);
          for (const method of ['Target.createTarget', 'Network.loadNetworkResource']) {
            assert.equal((await stage.call('cdp', { method, params: { url } })).success, false, `${method} ${url}`);
          }
        }
        const data = { items: [], files: [file], dragOperationsMask: 1 };
        const calls = [
          ['DOM.setFileInputFiles', { files: [file], nodeId: 1 }],
          ['Input.dispatchDragEvent', { type: 'drop', x: 1, y: 1, data }],
          ['Page.setDownloadBehavior', { behavior: 'allow', downloadPath: theatre.folder }],
          ['Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: theatre.folder }],
          ['Target.exposeDevToolsProtocol', { targetId: 'x' }],
          ['Target.sendMessageToTarget', { message: '{}' }],
          ['Tethering.bind', { port: 1 }],
          ['Fetch.disable', {}],
        ] as const;
        for (const [method, params] of calls) {
          const result = await stage.call('cdp', { method, params });
          assert.match(JSON.stringify(result), /is not available to this task/, method);
        }
        assert.ok(!JSON.stringify(await stage.call('snapshot')).includes('hunter2'));
      } finally {
        await stage.close();
      }
    });
  }

  test('a tab that shows one, opened by somebody else, is not read', async () => {
    const stage = new Stage(theatre);
    try {
      await stage.open('a', '/other');
      const debug = theatre.address.replace(/^ws/, 'http').replace(/\/devtools\/.*/, '');
      const made = await fetch(`${debug}/json/new?file://${file}`, { method: 'PUT' });
      const { id: target_id } = (await made.json()) as { id: string };
      const params = { expression: 'document.body.innerText' };
      let code: string | undefined;
      // The tab is not known at once, and not there at once.
      for (let tries = 0; tries < 200 && code !== 'invalid_input'; tries++) {
        const inTab = await stage.call('cdp', { method: 'Runtime.evaluate', params, target_id });
        assert.ok(!JSON.stringify(inTab).includes('hunter2'));
        code = codeOf(inTab);
        await sleep(20);
      }
      assert.equal(code, 'invalid_input');
      await stage.call('tabs', { action: 'switch', target_id });
      for (const tool of ['snapshot', 'screenshot', 'back'])
        assert.equal(codeOf(await stage.call(tool)), 'invalid_input', tool);
      assert.equal(codeOf(await stage.call('cdp', { method: 'Runtime.evaluate', params })), 'invalid_input');
      assert.equal((await stage.open('a', '/other')).title, 'other');
    } finally {
      await stage.close();
    }
  });

  test('what the protocol is there for still works', async () => {
    const stage = new Stage(theatre);
    try {
      await stage.open('a', '/other');
      const throttled = { offline: false, latency: 1, downloadThroughput: -1, uploadThroughput: -1 };
      const calls = [
        ['Network.setCookie', { name: 'a', value: 'b', url: stage.url('a') }],
        ['Network.getCookies', {}],
        ['Storage.getCookies', {}],
        ['Emulation.setDeviceMetricsOverride', { width: 400, height: 300, deviceScaleFactor: 1, mobile: false }],
        ['Network.emulateNetworkConditions', throttled],
        ['Page.getFrameTree', {}],
        ['Page.navigate', { url: stage.url('a', '/other') }],
        ['Target.getTargets', {}],
        ['Browser.getVersion', {}],
        ['Debugger.enable', {}],
        ['Runtime.evaluate', { expression: '1' }],
      ] as const;
      for (const [method, params] of calls)
        assert.equal((await stage.call('cdp', { method, params })).success, true, method);
    } finally {
      await stage.close();
    }
  });
});

describe('the bridge on a hosted browser with https pages', { skip: skip || noCertificates }, () => {
  let theatre: Theatre;
  before(async () => {
    const policies: Record<string, Record<string, string>> = {
      '/plain': {},
      '/csp': { 'content-security-policy': "connect-src 'none'" },
      '/sync': { 'permissions-policy': 'sync-xhr=()' },
      '/sandbox': { 'content-security-policy': 'sandbox allow-scripts allow-modals' },
    };
    theatre = await openTheatre((_site, url) => {
      const headers = policies[url.pathname];
      return (
        headers && {
          headers,
          body: "<title>page</title><button onclick=\"this.textContent = JSON.stringify(prompt('who', 'x'))\">ask</button>",
        }
      );
    }, makeCertificate());
  });
  after(() => theatre.close());

  for (const [path, bypass_csp, bridged] of [
    ['/plain', false, true],
    ['/sandbox', false, true],
    ['/csp', true, true],
    ['/csp', false, false],
    ['/sync', true, false],
  ] as const) {
    const how = bridged ? 'goes through the bridge' : 'falls back to the native dialog, which the backend closes';
    test(`${path}${bypass_csp ? ' with bypass_csp' : ''} ${how}`, async () => {
      const stage = new Stage(theatre, { config: { hosted: { cdp_url: theatre.address }, bypass_csp } });
      try {
        await stage.secondClient(true);
        await stage.open('a', path);
        await stage.open('a', path);
        await stage.clickOn('button "ask"');
        if (bridged) {
          const held = await stage.call('snapshot');
          assert.deepEqual(held.pending_dialogs, []);
          assert.equal((held.recent_dialogs as { awaiting_answer?: true }[])[0]?.awaiting_answer, true);
          await stage.call('dialog', { action: 'accept', prompt_text: 'Ada' });
          assert.ok(await stage.refOf('button "\\"Ada\\""'));
        } else {
          await stage.until('the native close', (state) => state.recentDialogs.length === 1);
          assert.ok(await stage.refOf('button "null"'));
        }
        const { recentDialogs } = await stage.state();
        assert.deepEqual(
          recentDialogs.map(({ source }) => source.kind),
          [bridged ? 'bridge' : 'native'],
        );
      } finally {
        await stage.close();
      }
    });
  }
});

describe('a Chromium of our own', { skip }, () => {
  let theatre: Theatre;
  before(async () => {
    theatre = await openTheatre(scenarioPages);
  });
  after(() => theatre.close());
  const own = () => new Stage(theatre, { config: { executable: executable ?? '', args: SITE_FLAGS } });

  test('it starts with the first navigation, uses a fresh profile, and ends with its task', async () => {
    const stage = own();
    assert.equal(codeOf(await stage.call('snapshot')), 'no_supervisor');
    assert.equal((await stage.open('a', '/other')).title, 'other');
    const profile = join(stage.browsers.folder, stage.context.taskId, 'profile');
    assert.ok(existsSync(profile));
    assert.ok((await processesWith(profile)).length > 0);
    await stage.browsers.end(stage.context.taskId);
    assert.equal(existsSync(profile), false);
    await noneWith(profile);
  });

  test('a browser killed with -9 is told at once, and the next navigation starts another', async () => {
    const stage = own();
    try {
      await stage.open('a', '/ask');
      const hanging = stage.call('cdp', {
        method: 'Runtime.evaluate',
        params: { expression: 'new Promise(() => {})', awaitPromise: true },
      });
      const profile = join(stage.browsers.folder, stage.context.taskId, 'profile');
      for (const pid of await processesWith(profile)) {
        const name = await readlink(`/proc/${pid}/exe`).catch(() => '');
        if (/chrom/.test(name)) process.kill(pid, 'SIGKILL');
      }
      assert.match(String(codeOf(await hanging)), /browser_gone|cdp_error/);
      const entry = await stage.browsers.running(stage.context.taskId);
      assert.ok(entry?.kind === 'cdp' && (await entry.supervisor.until(({ link }) => link.kind === 'gone', 5000)));
      assert.equal(codeOf(await stage.call('dialog', { action: 'accept' })), 'no_dialog');
      assert.equal((await stage.open('a', '/other')).title, 'other');
    } finally {
      await stage.close();
    }
  });

  test('it ends when the program that started it is killed with -9', async () => {
    const script = fileURLToPath(new URL('../support/hold-browser.ts', import.meta.url));
    const child = spawn(process.execPath, [script, executable ?? '', join(theatre.folder, 'held')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    const profile = join(theatre.folder, 'held', 'profile');
    assert.ok((await processesWith(profile)).length > 0);
    child.kill('SIGKILL');
    await noneWith(profile);
  });

  test('a program that is no browser fails with what it said', async () => {
    const stage = new Stage(theatre, { config: { executable: '/bin/false' } });
    const result = await stage.open('a');
    assert.equal(codeOf(result), 'browser_gone');
  });
});

describe('a backend with REST only', () => {
  test('pages are read and used, dialogs and frames are not offered, the snapshot has no further fields', async () => {
    const calls: string[] = [];
    const backend = await answering((path, body) => {
      calls.push(`${path.replace(/\?.*/, '')} ${body}`);
      if (path.startsWith('POST /tabs ') || path === 'POST /tabs') return { tabId: 't1', url: 'https://example.org/' };
      if (path.startsWith('GET /tabs/t1/snapshot')) return { url: 'https://example.org/', snapshot: '[button e1] Go' };
      if (path.startsWith('GET /tabs/t1/screenshot')) return Buffer.from('png');
      if (path.startsWith('POST /tabs/t1/')) return { ok: true };
      if (path.startsWith('DELETE')) return {};
      return undefined;
    });
    const folder = join(fileURLToPath(new URL('.', import.meta.url)), 'unused');
    const stage = new Stage(
      { address: '', folder, sites: undefined, endpoint: undefined, close: async () => {} } as unknown as Theatre,
      {
        config: { rest_url: backend.url, cdp_url: undefined },
      },
    );
    try {
      for (const name of ['dialog', 'cdp', 'tabs', 'console', 'select', 'wait']) {
        assert.match(String(await stage.tool(name).hidden?.(stage.context)), /no debugging protocol/, name);
      }
      assert.equal(await stage.tool('snapshot').hidden?.(stage.context), undefined);
      const stranger = { ...stage.context, taskId: 'stranger', trust: 'untrusted' } as const;
      assert.equal(codeOf(await stage.tool('navigate').call({ url: 'http://127.0.0.1/' }, stranger)), 'invalid_input');
      assert.equal((await stage.call('navigate', { url: 'example.org' })).success, true);
      const snapshot = await stage.call('snapshot');
      assert.deepEqual(Object.keys(snapshot), ['success', 'url', 'snapshot']);
      await stage.call('click', { ref: 'e1' });
      assert.equal(codeOf(await stage.call('dialog', { action: 'accept' })), 'no_supervisor');
      await stage.browsers.stop();
      assert.deepEqual(
        calls.map((call) => call.split(' ').slice(0, 2).join(' ')),
        ['POST /tabs', 'GET /tabs/t1/snapshot', 'POST /tabs/t1/click', 'DELETE /sessions/task'],
      );
    } finally {
      await backend.close();
    }
  });

  test('without any backend the browser tools are hidden, with the reason', async () => {
    const { Browsers } = await import('../../src/browser/supervisors.ts');
    const { configSchema } = await import('../../src/config/schema.ts');
    const { silentLog } = await import('../../src/core/log.ts');
    const { createBrowserTools } = await import('../../src/tools/browser-tools.ts');
    const browsers = new Browsers({
      config: configSchema.parse({}).browser,
      folder: '/nonexistent',
      env: { PATH: '' },
      clock: { now: () => 0 },
      log: silentLog,
    });
    for (const tool of createBrowserTools(browsers)) {
      assert.match(String(await tool.hidden?.({ taskId: 't', trust: 'person' })), /No Chromium was found/);
    }
  });
});
