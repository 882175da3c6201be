// A server on loopback that stands in for a platform: it remembers what it was asked and answers what it is told.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  method: string;
  /** Path and query. */
  path: string;
  headers: Record<string, string>;
  text: string;
  json: unknown;
}

export interface DoubleReply {
  status?: number;
  headers?: Record<string, string>;
  json?: unknown;
  text?: string;
  /** Take the request and never answer. */
  silent?: true;
  delayMs?: number;
}

export interface HttpDouble extends AsyncDisposable {
  url: string;
  port: number;
  /** In the order of arrival. */
  requests: SeenRequest[];
}

export async function startHttpDouble(answer: (request: SeenRequest) => DoubleReply): Promise<HttpDouble> {
  const requests: SeenRequest[] = [];
  const server = createServer((incoming, outgoing) => {
    void readRequest(incoming).then((seen) => {
      requests.push(seen);
      const reply = answer(seen);
      if (reply.silent) return;
      if (reply.delayMs) setTimeout(() => write(outgoing, reply), reply.delayMs);
      else write(outgoing, reply);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readRequest(incoming: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
  return { method: incoming.method ?? '', path: incoming.url ?? '', headers, text, json: parsed(text) };
}

function write(outgoing: ServerResponse, { status = 200, headers = {}, json, text }: DoubleReply): void {
  const type = json === undefined ? 'text/plain' : 'application/json';
  outgoing.writeHead(status, { 'content-type': type, ...headers });
  outgoing.end(json === undefined ? (text ?? '') : JSON.stringify(json));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
