// MCP servers of the user: their tools as tools of the agent. A server is started or called when a task may need it, and
// never before; one that does not work takes nothing from the others. What a server says is text from outside.

import { randomUUID } from 'node:crypto';
import type { Client } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { defineTool, type Tool, type ToolResult } from '../agent/tool.ts';
import type { Config } from '../config/schema.ts';
import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { fenceUntrusted, showInvisible } from '../core/untrusted.ts';

type ServerConfig = Config['mcp_servers'][string];

const CONNECT_MS = 30_000;
// Progress notes of a server start it anew.
const CALL_MS = 300_000;
const STDERR_KEPT = 2000;
const DESCRIPTION_KEPT = 4000;
// A server that does not answer must not hold up every turn of a chat again.
const ASK_AGAIN_MS = 60_000;

export interface McpServers {
  /** Names of the servers that are switched on. */
  readonly names: readonly string[];
  /** Whether a server that is switched on may have a tool or toolset of this name. None is started for it. */
  mayHave(name: string): boolean;
  /** Tools of the servers that one of these toolsets (already expanded) or tool names asks for. */
  toolsFor(names: ReadonlySet<string>): Promise<{ tools: Tool[]; problems: McpProblem[] }>;
  /** Connects and lists, whatever asks for it. */
  check(name: string): Promise<{ kind: 'ok'; tools: Tool[] } | { kind: 'failed'; reason: string }>;
  /** Ends the servers that were started. Calling it twice is fine. */
  close(): Promise<void>;
}

export interface McpProblem {
  server: string;
  reason: string;
}

interface Connected {
  client: Client;
  tools: Tool[];
}

export function createMcpServers(servers: Config['mcp_servers'], log: Logger): McpServers {
  const enabled = new Map(Object.entries(servers).filter(([, server]) => server.enabled));
  const connections = new Map<string, Promise<Connected>>();
  const failures = new Map<string, { reason: string; at: number }>();

  const connected = (name: string, server: ServerConfig): Promise<Connected> => {
    const known = connections.get(name);
    if (known) return known;
    const made = connect(name, server, (reason) => {
      connections.delete(name);
      if (reason) log.warn('An MCP server went away', { server: name, reason });
    }).then(({ client, listed }) => ({ client, tools: listed.map((tool) => toTool(name, server, tool)) }));
    connections.set(name, made);
    made.then(
      () => failures.delete(name),
      (error: unknown) => {
        connections.delete(name);
        failures.set(name, { reason: messageOf(error), at: performance.now() });
      },
    );
    return made;
  };

  const toTool = (serverName: string, server: ServerConfig, listed: ListedTool): Tool =>
    defineTool({
      name: toolName(serverName, listed.name),
      description: descriptionOf(serverName, listed),
      input: z.record(z.string(), z.unknown()),
      inputJsonSchema: listed.inputSchema,
      toolsets: [...server.toolsets, `mcp-${serverName}`],
      untrusted: 'named',
      parallel: listed.annotations?.readOnlyHint === true,
      async run(input, context) {
        // By name at the time of the call: the connection may have been made anew.
        const { client } = await connected(serverName, server);
        const options = { signal: context.signal, timeout: CALL_MS, resetTimeoutOnProgress: true };
        const { output, failed } = await client.callTool({ name: listed.name, arguments: input }, options).then(
          resultOf,
          // Its own words too, when the server refused the call.
          (error: unknown) => ({ output: messageOf(error), failed: true }),
        );
        context.signal.throwIfAborted();
        const fenced = fenceUntrusted(output, randomUUID(), `what the MCP server ${serverName} answered`);
        return { output: fenced, ...(failed ? { failed } : {}) };
      },
    });

  const attempt = async (name: string, server: ServerConfig) => {
    try {
      return { kind: 'ok', tools: (await connected(name, server)).tools } as const;
    } catch (error) {
      return { kind: 'failed', reason: messageOf(error) } as const;
    }
  };

  /** The failure of a moment ago. Servers come back, so it is not kept for long. */
  const lately = (name: string): { kind: 'failed'; reason: string } | undefined => {
    const failure = failures.get(name);
    if (!failure || performance.now() - failure.at > ASK_AGAIN_MS) return undefined;
    return { kind: 'failed', reason: failure.reason };
  };

  return {
    names: [...enabled.keys()],
    mayHave: (asked) => [...enabled].some(([name, server]) => asksFor(new Set([asked]), name, server)),
    async toolsFor(names) {
      const wanted = [...enabled].filter(([name, server]) => asksFor(names, name, server));
      const results = await Promise.all(wanted.map(([name, server]) => lately(name) ?? attempt(name, server)));
      const tools: Tool[] = [];
      const problems: McpProblem[] = [];
      results.forEach((result, index) => {
        if (result.kind === 'ok') tools.push(...result.tools);
        else problems.push({ server: wanted[index]?.[0] ?? '', reason: result.reason });
      });
      for (const problem of problems) log.warn('An MCP server does not work', { ...problem });
      return { tools, problems };
    },
    async check(name) {
      const server = enabled.get(name);
      if (!server) return { kind: 'failed', reason: 'There is no such server, or it is switched off.' };
      return attempt(name, server);
    },
    async close() {
      const open = [...connections.values()];
      connections.clear();
      await Promise.allSettled(open.map(async (connection) => (await connection).client.close()));
    },
  };
}

interface ListedTool {
  name: string;
  description?: string | undefined;
  inputSchema: Record<string, unknown>;
  annotations?: { readOnlyHint?: boolean | undefined } | undefined;
}

const asksFor = (names: ReadonlySet<string>, name: string, server: ServerConfig): boolean =>
  names.has(`mcp-${name}`) ||
  server.toolsets.some((toolset) => names.has(toolset)) ||
  [...names].some((asked) => asked.startsWith(`${clean(name)}_`));

async function connect(name: string, server: ServerConfig, onClose: (reason: string | undefined) => void) {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const client = new Client({ name: 'svc', version: '1' });
  let said = '';
  let closing = false;
  try {
    if (server.command !== undefined) {
      const { StdioClientTransport, getDefaultEnvironment } = await import('@modelcontextprotocol/client/stdio');
      const transport = new StdioClientTransport({
        command: server.command,
        args: server.args,
        // The few harmless variables of the library and what was configured: no secret of this process.
        env: { ...getDefaultEnvironment(), ...server.env },
        stderr: 'pipe',
      });
      transport.stderr?.on('data', (chunk: Buffer) => {
        said = (said + chunk.toString('utf8')).slice(-STDERR_KEPT);
      });
      await client.connect(transport, { timeout: CONNECT_MS });
    } else if (server.url !== undefined) {
      const transport = new StreamableHTTPClientTransport(new URL(server.url), {
        requestInit: { headers: server.headers },
      });
      await client.connect(transport, { timeout: CONNECT_MS });
    } else {
      throw new Error(`mcp_servers.${name} has neither command nor url; set one of them.`);
    }
    const { tools } = await client.listTools();
    client.onclose = () => {
      if (!closing) onClose(lastLine(said));
    };
    return { client, listed: tools as ListedTool[] };
  } catch (error) {
    closing = true;
    await client.close().catch(() => {});
    const hint = lastLine(said);
    throw new Error(hint ? `${messageOf(error)} (it said: ${hint})` : messageOf(error), { cause: error });
  }
}

function resultOf(result: {
  content?: unknown;
  structuredContent?: unknown;
  isError?: boolean | undefined;
}): ToolResult {
  const parts = Array.isArray(result.content) ? result.content.map(partText) : [];
  if (parts.length === 0 && result.structuredContent !== undefined)
    parts.push(JSON.stringify(result.structuredContent));
  const output = parts.join('\n') || '(no output)';
  return result.isError ? { output, failed: true } : { output };
}

const contentPart = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('resource'), resource: z.object({ uri: z.string(), text: z.string() }) }),
  z.object({ type: z.literal('resource_link'), uri: z.string() }),
]);

function partText(part: unknown): string {
  const known = contentPart.safeParse(part);
  if (!known.success)
    return `[${z.object({ type: z.string() }).safeParse(part).data?.type ?? 'something'} that is not text]`;
  if (known.data.type === 'text') return known.data.text;
  return known.data.type === 'resource' ? known.data.resource.text : known.data.uri;
}

// What every model server accepts as the name of a function.
const clean = (text: string): string => text.replace(/[^a-zA-Z0-9_-]/g, '_');
const toolName = (server: string, tool: string): string => `${clean(server)}_${clean(tool)}`.slice(0, 64);

// A description cannot stand in a fence: it is part of the tool. So it is bounded, plain to see, and says whose it is.
const descriptionOf = (server: string, { name, description }: ListedTool): string =>
  `Tool of the MCP server ${server}, described by it: ${showInvisible(description ?? name).slice(0, DESCRIPTION_KEPT)}`;

const lastLine = (text: string): string | undefined => text.trim().split('\n').at(-1)?.slice(0, 300) || undefined;
