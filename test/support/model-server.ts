// A scripted OpenAI-compatible model server on loopback, for tests. It answers real requests over real sockets with
// what the script says, remembers every request, and can misbehave in the ways that servers do.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ChatRequest {
  model: string;
  messages: { role: string; content?: unknown; tool_calls?: unknown[]; tool_call_id?: string }[];
  max_tokens?: number;
  stream?: boolean;
  tools?: { type: string; function: { name: string; description?: string; parameters?: unknown } }[];
}

export interface SeenRequest {
  /** The 1-based number of this chat request. */
  number: number;
  body: ChatRequest;
  headers: IncomingMessage['headers'];
  path: string;
}

export interface ScriptedCall {
  id?: string;
  name: string;
  /** A string is sent as it is, anything else as JSON. */
  arguments: unknown;
}

/** One answer. With none of the special keys it is a well-formed reply, streamed when the request asks for it. */
export interface ScriptedReply {
  text?: string;
  thinking?: string;
  toolCalls?: ScriptedCall[];
  /** Sent before the answer is. */
  delayMs?: number;
  /** Between the pieces of a stream. */
  pieceDelayMs?: number;
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
  /** An error: this status, `body` and `headers`. */
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** Full control: writes whatever it likes. The response is ended afterwards unless it was already. */
  raw?(response: ServerResponse, request: SeenRequest): Promise<void> | void;
}

export type Script = readonly ScriptedReply[] | ((request: SeenRequest) => ScriptedReply | Promise<ScriptedReply>);

export interface ModelServer {
  /** `http://127.0.0.1:<port>`, without /v1. */
  url: string;
  port: number;
  /** Chat requests so far, in order. */
  requests: SeenRequest[];
  /** Chat requests that are being answered right now. */
  readonly open: number;
  /** Drops every connection and stops. */
  close(): Promise<void>;
}

export interface ModelServerOptions {
  models?: string[];
  /** Further GET paths, e.g. `/health`, as status and JSON body. */
  routes?: Record<string, () => { status: number; body: unknown }>;
  port?: number;
}

/** A list is played in order and its last entry repeated; a function is asked each time. */
export async function startModelServer(script: Script, options: ModelServerOptions = {}): Promise<ModelServer> {
  const requests: SeenRequest[] = [];
  let open = 0;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = new URL(request.url ?? '/', 'http://x').pathname;
    const route = options.routes?.[path]?.();
    if (request.method === 'GET' && route) return sendJson(response, route.status, route.body);
    if (request.method === 'GET' && path.endsWith('/models')) {
      const data = (options.models ?? ['scripted']).map((id) => ({ id, object: 'model' }));
      return sendJson(response, 200, { object: 'list', data });
    }
    if (request.method !== 'POST' || !path.endsWith('/chat/completions')) {
      return sendJson(response, 404, { error: { message: 'no such path' } });
    }
    const body = JSON.parse(await bodyOf(request)) as ChatRequest;
    const seen: SeenRequest = { number: requests.length + 1, body, headers: request.headers, path };
    requests.push(seen);
    open += 1;
    response.once('close', () => {
      open -= 1;
    });
    const reply = typeof script === 'function' ? await script(seen) : script[Math.min(seen.number, script.length) - 1];
    if (!reply) return sendJson(response, 500, { error: { message: 'the script is empty' } });
    // A long delay must not keep a test program alive.
    if (reply.delayMs) await sleep(reply.delayMs, undefined, { ref: false });
    if (response.destroyed) return;
    await play(reply, seen, response);
    if (!response.writableEnded && !response.destroyed) response.end();
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    });
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    get open() {
      return open;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      if (server.listening) await once(server, 'close');
    },
  };
}

export const SSE_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };

/** One `data:` event of a stream with this delta. */
export function chunk(delta: Record<string, unknown>, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'scripted', choices });
}

export const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
export const DONE = 'data: [DONE]\n\n';

async function play(reply: ScriptedReply, seen: SeenRequest, response: ServerResponse): Promise<void> {
  if (reply.raw) return reply.raw(response, seen);
  if (reply.status !== undefined) {
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    response.end(reply.body ?? JSON.stringify({ error: { message: `scripted ${reply.status}` } }));
    return;
  }
  if (seen.body.stream) await streamReply(reply, response);
  else sendJson(response, 200, wholeReply(reply));
}

async function streamReply(reply: ScriptedReply, response: ServerResponse): Promise<void> {
  response.writeHead(200, SSE_HEADERS);
  const pieces = [chunk({ role: 'assistant', content: '' })];
  if (reply.thinking) pieces.push(chunk({ reasoning_content: reply.thinking }));
  for (const word of reply.text?.match(/\s*\S+|\s+$/g) ?? []) pieces.push(chunk({ content: word }));
  for (const [index, call] of (reply.toolCalls ?? []).entries())
    pieces.push(chunk({ tool_calls: [wireCall(call, index)] }));
  pieces.push(chunk({}, reply.toolCalls?.length ? 'tool_calls' : 'stop'));
  if (reply.usage !== null)
    pieces.push(event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', choices: [], usage: usageOf(reply) }));
  pieces.push(DONE);
  for (const piece of pieces) {
    if (response.destroyed) return;
    response.write(piece);
    if (reply.pieceDelayMs) await sleep(reply.pieceDelayMs);
  }
}

function wholeReply(reply: ScriptedReply): unknown {
  const calls = (reply.toolCalls ?? []).map(wireCall);
  const message = {
    role: 'assistant',
    content: reply.text ?? (calls.length > 0 ? null : ''),
    ...(reply.thinking ? { reasoning_content: reply.thinking } : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  const choice = { index: 0, message, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' };
  const usage = reply.usage === null ? {} : { usage: usageOf(reply) };
  return { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'scripted', choices: [choice], ...usage };
}

const wireCall = (call: ScriptedCall, index: number): Record<string, unknown> => ({
  index,
  id: call.id ?? `call_${index}`,
  type: 'function',
  function: {
    name: call.name,
    arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
  },
});

function usageOf(reply: ScriptedReply): Record<string, number> {
  const { prompt_tokens, completion_tokens } = reply.usage ?? { prompt_tokens: 10, completion_tokens: 5 };
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}
