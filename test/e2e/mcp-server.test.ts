// `svc mcp` with a client that is not ours: the official MCP client lists and calls the browser tools.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { scenarioPages } from '../support/browser-scenarios.ts';
import { chromiumOrSkip } from '../support/browser-stage.ts';
import { SITE_FLAGS, type Sites, startSites } from '../support/sites.ts';
import { createSvcHome, type SvcHome } from '../support/svc.ts';

const skip = (await chromiumOrSkip()) === undefined ? 'no Chromium on this machine' : false;
const launcher = resolve(import.meta.dirname, '../../bin/svc');

interface Answer {
  structuredContent?: Record<string, unknown>;
  content: { type: string; text?: string }[];
  isError?: boolean;
}

describe('svc mcp', { skip }, () => {
  let home: SvcHome;
  let sites: Sites;
  before(async () => {
    home = createSvcHome();
    home.configure(JSON.stringify({ browser: { args: SITE_FLAGS } }));
    sites = await startSites(scenarioPages);
  });
  after(async () => {
    await home.remove();
    await sites.close();
  });
  const environment = () => ({ PATH: process.env.PATH ?? '', HOME: home.path, SVC_HOME: home.path });

  /** Structured content and text hold the same. */
  async function call(
    client: Client,
    name: string,
    input: Record<string, unknown> = {},
  ): Promise<Record<string, unknown>> {
    const answer = (await client.callTool({ name, arguments: input })) as Answer;
    assert.deepEqual(JSON.parse(answer.content[0]?.text ?? ''), answer.structuredContent);
    return answer.structuredContent ?? {};
  }

  /** The same walk on both transports: a page, its text, a dialog, a frame of another site. */
  async function walk(client: Client): Promise<void> {
    const { tools } = await client.listTools();
    const names = tools.map((tool) => tool.name);
    for (const name of ['browser_navigate', 'browser_snapshot', 'browser_dialog', 'browser_cdp'])
      assert.ok(names.includes(name));
    assert.equal(names.length, 14);
    assert.equal((await call(client, 'browser_navigate', { url: sites.url('a', '/ask') })).title, 'ask');
    const { snapshot } = await call(client, 'browser_snapshot');
    const ref = /button "prompt" \[(\w+)\]/.exec(String(snapshot))?.[1];
    assert.equal((await call(client, 'browser_click', { ref })).interrupted, 'dialog');
    const answered = await call(client, 'browser_dialog', { action: 'accept', prompt_text: 'Ada' });
    assert.equal((answered.dialog as { closed_by: string }).closed_by, 'agent');
    assert.match(String((await call(client, 'browser_snapshot')).snapshot), /answer: "Ada"/);
    await call(client, 'browser_navigate', { url: sites.url('a', '/nest') });
    await call(client, 'browser_wait', { text: 'leaf of c' });
    const { frame_tree } = (await call(client, 'browser_snapshot')) as {
      frame_tree: { children: { frame_id: string; url: string }[] };
    };
    const frame_id = frame_tree.children.find((child) => child.url.includes('//c.test'))?.frame_id;
    const params = { expression: 'location.hostname', returnByValue: true };
    const evaluated = await call(client, 'browser_cdp', { method: 'Runtime.evaluate', params, frame_id });
    assert.equal((evaluated.result as { result: { value: string } }).result.value, 'c.test');
    const failed = (await client.callTool({ name: 'browser_dialog', arguments: { action: 'accept' } })) as Answer;
    assert.equal(failed.isError, true);
    assert.equal((failed.structuredContent as { error: { code: string } }).error.code, 'no_dialog');
    const shot = (await client.callTool({ name: 'browser_screenshot', arguments: {} })) as Answer;
    assert.deepEqual(
      shot.content.map(({ type }) => type),
      ['text', 'image'],
    );
  }

  test('serves a client on stdio and ends with it', async () => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [launcher, 'mcp'],
      env: environment(),
    });
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transport);
    const { pid } = transport;
    await walk(client);
    await client.close();
    assert.throws(() => process.kill(pid ?? 0, 0));
  });

  test('serves clients with the token on a loopback port, and nobody else', async () => {
    const child = spawn(process.execPath, [launcher, 'mcp', '--http', '--port', '0'], {
      env: { ...environment(), SVC_MCP_TOKEN: 'right' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      const [line] = await once(child.stdout, 'data');
      const url = new URL(String(line).trim());
      const post = (headers: Record<string, string>) =>
        fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: '{}' }).then(
          (reply) => reply.status,
        );
      assert.equal(await post({}), 401);
      assert.equal(await post({ authorization: 'Bearer wrong' }), 401);
      assert.equal(await post({ authorization: 'Bearer right', origin: 'https://evil.example' }), 403);
      assert.equal(await strangeHost(url), 403);
      const client = new Client({ name: 'test', version: '1' });
      await client.connect(
        new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization: 'Bearer right' } } }),
      );
      await walk(client);
      await client.close();
    } finally {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
  });
});

/** fetch() sets Host by itself, so this one is written by hand. */
async function strangeHost(url: URL): Promise<number> {
  const { connect } = await import('node:net');
  const socket = connect(Number(url.port), url.hostname);
  socket.write(
    'POST /mcp HTTP/1.1\r\nhost: evil.example\r\nauthorization: Bearer right\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}',
  );
  const [data] = await once(socket, 'data');
  socket.destroy();
  return Number(/^HTTP\/1\.1 (\d+)/.exec(String(data))?.[1]);
}
