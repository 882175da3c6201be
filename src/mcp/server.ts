// The MCP server: on stdio for a client that starts us, or on a loopback port for clients that hold the token. A web page
// must not be able to reach it, so Host and Origin are checked before anything else.

import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { SvcError } from '../core/errors.ts';
import { createMcpServer, type McpOptions, offeredTools } from './tools.ts';

/** Serves one client until it closes its side or the signal aborts. */
export async function serveOnStdio(options: McpOptions, signal: AbortSignal): Promise<void> {
  const offered = await offeredTools(options);
  const transport = new StdioServerTransport();
  await new Promise<void>((resolve) => {
    const handle = serveStdio(() => createMcpServer(options, offered), { transport });
    const end = () => void handle.close().finally(resolve);
    process.stdin.once('end', end);
    process.stdin.once('close', end);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  });
}

export interface McpHttp {
  url: string;
  close(): Promise<void>;
}

/** Listens on the loopback interface only. Throws SvcError `port_in_use`. */
export async function serveOnHttp(options: McpOptions, port: number, token: string): Promise<McpHttp> {
  const offered = await offeredTools(options);
  const handler = createMcpHandler(() => createMcpServer(options, offered), { responseMode: 'auto' });
  const server = createServer((request, response) => {
    answer(request, token, (allowed) => handler.fetch(allowed))
      .then((reply) => write(reply, response))
      .catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => {
      const help = 'Choose another one with --port, or 0 for any that is free.';
      reject(new SvcError('port_in_use', `Port ${port} cannot be used.`, { help, cause }));
    });
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://127.0.0.1:${bound}/mcp`,
    async close() {
      await handler.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function answer(
  incoming: IncomingMessage,
  token: string,
  serve: (request: Request) => Promise<Response>,
): Promise<Response> {
  const request = toRequest(incoming);
  const refused =
    hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
    originValidationResponse(request, localhostAllowedOrigins());
  if (refused !== undefined) return refused;
  if (new URL(request.url).pathname !== '/mcp') return new Response('Not found\n', { status: 404 });
  if (!holdsToken(request.headers.get('authorization'), token)) {
    return new Response('A bearer token is needed.\n', { status: 401, headers: { 'www-authenticate': 'Bearer' } });
  }
  return serve(request);
}

function toRequest(incoming: IncomingMessage): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) {
    for (const one of [value].flat()) if (one !== undefined) headers.append(name, one);
  }
  const url = new URL(incoming.url ?? '/', 'http://127.0.0.1');
  const { method = 'GET' } = incoming;
  if (method === 'GET' || method === 'HEAD') return new Request(url, { method, headers });
  return new Request(url, { method, headers, body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' });
}

async function write(reply: Response, response: ServerResponse): Promise<void> {
  response.writeHead(reply.status, Object.fromEntries(reply.headers));
  if (reply.body === null) {
    response.end();
    return;
  }
  for await (const chunk of reply.body) response.write(chunk);
  response.end();
}

/** Compared as digests: equal length, and no time to learn from. */
function holdsToken(header: string | null, token: string): boolean {
  const given = /^Bearer (.+)$/i.exec(header ?? '')?.[1] ?? '';
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
