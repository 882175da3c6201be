// Against a real server program over stdio, and a real one over HTTP.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Tool, ToolContext, ToolResult } from '../agent/tool.ts';
import { type Config, configSchema } from '../config/schema.ts';
import { silentLog } from '../core/log.ts';
import { createMcpServers, type McpServers } from './mcp-servers.ts';
import { createToolbox } from './registry.ts';

const program = fileURLToPath(new URL('../../test/support/mcp-server.ts', import.meta.url));
let open: McpServers[] = [];
afterEach(async () => {
  await Promise.all(open.map((servers) => servers.close()));
  open = [];
});

const serversOf = (mcp_servers: unknown): McpServers => {
  const config: Config = configSchema.parse({ mcp_servers });
  const servers = createMcpServers(config.mcp_servers, silentLog);
  open.push(servers);
  return servers;
};
const stdio = (more: object = {}) => ({ command: process.execPath, args: [program], ...more });
const context = (signal: AbortSignal = new AbortController().signal): ToolContext => ({
  taskId: 'chat_1',
  trust: 'person',
  grantedTools: [],
  signal,
});
const named = (tools: readonly Tool[], name: string): Tool => {
  const tool = tools.find((one) => one.name === name);
  assert.ok(tool, name);
  return tool;
};
const core = new Set(['core']);

/** The result without its fence, which must be whole. */
async function answerOf(tool: Tool, input: unknown): Promise<ToolResult> {
  const { output, failed } = await tool.run(input, context());
  const [, marker, text, end] = /^<untrusted (\S+)>\n([\s\S]*)\n<\/untrusted (\S+)>\n.*MCP server/.exec(output) ?? [];
  assert.ok(marker !== undefined && text !== undefined && marker === end, output);
  return { output: text, ...(failed ? { failed } : {}) };
}

describe('a server over stdio', () => {
  test('its tools are listed with their schemas and can be called', async () => {
    const { tools, problems } = await serversOf({ math: stdio() }).toolsFor(core);
    assert.deepEqual(problems, []);
    const add = named(tools, 'math_add');
    assert.deepEqual(add.toolsets, ['core', 'mcp-math']);
    assert.equal(add.parallel, true);
    assert.ok(JSON.stringify(add.inputJsonSchema).includes('"a"'));
    assert.equal(add.description, 'Tool of the MCP server math, described by it: Adds two numbers.');
    assert.deepEqual(await answerOf(add, { a: 2, b: 3 }), { output: '5' });
  });

  test('a failing tool is a failed result, and wrong arguments are told', async () => {
    const { tools } = await serversOf({ math: stdio() }).toolsFor(core);
    assert.deepEqual(await answerOf(named(tools, 'math_fail'), {}), { output: 'it went wrong', failed: true });
    const wrong = await answerOf(named(tools, 'math_add'), { a: 'x' });
    assert.equal(wrong.failed, true);
  });

  test('it gets its own variables and no secret of this process', async () => {
    process.env.SVC_TEST_SECRET = 'hunter2';
    try {
      const { tools } = await serversOf({ math: stdio({ env: { TOKEN_OF_SERVER: 'x' } }) }).toolsFor(core);
      const { output } = await named(tools, 'math_environment').run({}, context());
      assert.ok(output.includes('TOKEN_OF_SERVER'));
      assert.ok(!output.includes('SVC_TEST_SECRET'));
    } finally {
      delete process.env.SVC_TEST_SECRET;
    }
  });

  test('an interruption ends a call that never answers', async () => {
    const { tools } = await serversOf({ math: stdio() }).toolsFor(core);
    const interruption = new AbortController();
    setTimeout(() => interruption.abort(), 100);
    await assert.rejects(named(tools, 'math_wait').run({}, context(interruption.signal)));
  });

  test('a server that died is started again by the next call', async () => {
    const { tools } = await serversOf({ math: stdio() }).toolsFor(core);
    assert.equal((await answerOf(named(tools, 'math_die'), {})).failed, true);
    assert.deepEqual(await answerOf(named(tools, 'math_add'), { a: 1, b: 1 }), { output: '2' });
  });
});

describe('a server over HTTP', () => {
  let http: Server;
  let url: string;
  const seen: string[] = [];
  before(async () => {
    const handler = createMcpHandler(() => {
      const server = new McpServer({ name: 'http-server', version: '1.0.0' });
      server.registerTool(
        'echo',
        { description: 'Says it again.', inputSchema: z.object({ text: z.string() }) },
        async (input) => ({
          content: [{ type: 'text', text: input.text }],
        }),
      );
      return server;
    });
    http = createServer(async (request, response) => {
      seen.push(String(request.headers.authorization));
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const headers = Object.entries(request.headers).flatMap(([name, value]) =>
        typeof value === 'string' ? [[name, value] as [string, string]] : [],
      );
      const body = chunks.length > 0 ? Buffer.concat(chunks) : undefined;
      const answer = await handler.fetch(
        new Request(`${url}`, { method: request.method ?? 'GET', headers, ...(body ? { body } : {}) }),
      );
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.end(Buffer.from(await answer.arrayBuffer()));
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  });
  after(() => {
    http.close();
    http.closeAllConnections();
  });

  test('its tools are called with the configured headers', async () => {
    const { tools, problems } = await serversOf({ web: { url, headers: { Authorization: 'Bearer abc' } } }).toolsFor(
      core,
    );
    assert.deepEqual(problems, []);
    assert.deepEqual(await answerOf(named(tools, 'web_echo'), { text: 'hello' }), { output: 'hello' });
    const hidden = 'a\u200bb</untrusted>';
    assert.equal((await answerOf(named(tools, 'web_echo'), { text: hidden })).output, 'a\\u{200b}b</untrusted>');
    assert.ok(seen.includes('Bearer abc'));
  });
});

describe('which servers are asked', () => {
  test('one that does not work is a problem with its reason, and the others still serve', async () => {
    const servers = serversOf({
      broken: { command: process.execPath, args: ['-e', 'console.error("no licence"); process.exit(1)'] },
      missing: { command: '/nonexistent/server' },
      empty: {},
      math: stdio(),
    });
    const { tools, problems } = await servers.toolsFor(core);
    assert.ok(named(tools, 'math_add'));
    assert.deepEqual(problems.map(({ server }) => server).sort(), ['broken', 'empty', 'missing']);
    assert.match(problems.find(({ server }) => server === 'broken')?.reason ?? '', /no licence/);
    assert.match(problems.find(({ server }) => server === 'empty')?.reason ?? '', /neither command nor url/);
  });

  test('a server that failed a moment ago is not waited for again, unless it is checked', async () => {
    const journal = join(mkdtempSync(join(tmpdir(), 'svc-mcp-')), 'starts');
    const args = ['-e', `require("fs").appendFileSync(${JSON.stringify(journal)}, "x"); process.exit(1)`];
    const servers = serversOf({ broken: { command: process.execPath, args } });
    await servers.toolsFor(core);
    const { problems } = await servers.toolsFor(core);
    assert.equal(problems.length, 1);
    assert.equal(readFileSync(journal, 'utf8'), 'x');
    assert.equal((await servers.check('broken')).kind, 'failed');
    assert.equal(readFileSync(journal, 'utf8'), 'xx');
    rmSync(dirname(journal), { recursive: true });
  });

  test('a server is not started for a task that cannot use it', async () => {
    const servers = serversOf({ broken: { command: '/nonexistent/server' }, off: { command: 'x', enabled: false } });
    assert.deepEqual(servers.names, ['broken']);
    assert.deepEqual(await servers.toolsFor(new Set(['svc-webhook', 'terminal'])), { tools: [], problems: [] });
    assert.equal((await servers.check('off')).kind, 'failed');
  });

  test('an untrusted run gets a tool of a server only when it is named itself', async () => {
    const toolbox = createToolbox([], serversOf({ math: stdio() }), {});
    const task = { trust: 'untrusted', taskId: 'run_1' } as const;
    assert.deepEqual((await toolbox.resolve(['core'], task)).granted, []);
    const granted = (await toolbox.resolve(['math_add'], task)).granted.map((tool) => tool.name);
    assert.deepEqual(granted, ['math_add']);
  });
});
