// The HTTP server of the gateway: limits, deadlines, closing, /health and JSON errors. It holds no rules of its own:
// rooms bring their routes as functions that get the server.
//
// No body is parsed or read here, and `100 Continue` is sent by whoever starts to read (raw-body.ts): a request can
// always be refused by its head alone.

import { type IncomingMessage, METHODS, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { messageOf, SvcError } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { isLocalClient } from '../webhooks/local-client.ts';
import { limitConnections } from './connections.ts';
import { createHttpTally, createMetrics, type MetricsSource } from './metrics.ts';

export type HttpServer = FastifyInstance;
export type HttpRequest = FastifyRequest;
export type HttpReply = FastifyReply;

export interface HttpOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  log: Logger;
  /** Each adds its routes. `server.all(path, ...)` gets every method; the sender's headers are `request.raw.headers`. */
  routes: readonly ((server: HttpServer) => void)[];
  /** What /metrics tells; absent means that there is none. */
  metrics?: MetricsSource;
  maxConnections?: number;
}

export interface RunningHttp {
  url: string;
  port: number;
  /** Refuses what is new, waits for what is under way; when the signal aborts, cuts it. Calling it twice is fine. */
  stop(signal: AbortSignal): Promise<void>;
}

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;
const KEEP_ALIVE_MS = 65_000;
const CHECK_INTERVAL_MS = 1_000;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_CONNECTIONS = 1024;

/** Listens before it resolves. Throws SvcError `port_in_use` or `invalid_input` when the address cannot be had. */
export async function startHttpServer(options: HttpOptions): Promise<RunningHttp> {
  const { log } = options;
  const server = createServer(options);
  let stopping = false;
  server.addHook('onRequest', (request, reply, next) => {
    // The framework would refuse a malformed type; what a body is, is for its reader to say.
    request.headers = { 'content-type': 'application/octet-stream' };
    const hosts = countHeader(request.raw, 'host');
    if (hosts > 1 || (hosts === 0 && request.raw.httpVersion !== '1.0')) refuse(reply, 400, 'Bad request');
    else if (stopping) refuse(reply.header('retry-after', '5'), 503, 'Shutting down');
    else next();
  });
  // A connection kept alive past this answer would keep the server from closing.
  server.addHook('onSend', async (_request, reply) => {
    if (stopping) reply.header('connection', 'close');
  });
  server.get('/health', { exposeHeadRoute: true }, async () => ({ status: 'ok', platform: 'webhook' }));
  if (options.metrics !== undefined) {
    const tally = createHttpTally();
    server.addHook('onResponse', ({ method, routeOptions }, { statusCode }, done) => {
      tally.add(routeOptions.url ?? 'none', routeOptions.url === undefined ? 'any' : method, statusCode);
      done();
    });
    const metrics = createMetrics(options.metrics, tally);
    server.get('/metrics', async (request, reply) => {
      // How much runs here is not for everyone who may send a webhook.
      if (!isLocalClient(request.raw.socket.remoteAddress, request.raw.headers)) return refuse(reply, 403, 'Forbidden');
      reply.type('text/plain; version=0.0.4; charset=utf-8');
      return metrics();
    });
  }
  for (const addRoutes of options.routes) addRoutes(server);
  server.setNotFoundHandler((request, reply) => {
    const allowed = allowedMethods(server, request.url);
    if (allowed.length === 0) return refuse(reply, 404, 'Not found');
    return refuse(reply.header('allow', allowed.join(', ')), 405, 'Method not allowed');
  });
  server.setErrorHandler((error, request, reply) => {
    const status = statusOf(error);
    if (status >= 500)
      log.error('A request failed', { method: request.method, url: request.url, error: messageOf(error) });
    return refuse(reply, status, status >= 500 ? 'Internal error' : 'Bad request');
  });

  limitConnections(server.server, options.maxConnections ?? MAX_CONNECTIONS, log);
  // Without a listener Node would answer 100 by itself and the sender would start with a body that is refused anyway.
  server.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    server.server.emit('request', request, response);
  });
  await listen(server, options);

  const { port } = server.server.address() as AddressInfo;
  let stopped: Promise<void> | undefined;
  return {
    url: `http://${urlHost(options.host)}:${port}`,
    port,
    stop(signal) {
      stopping = true;
      stopped ??= close(server, signal);
      return stopped;
    },
  };
}

/** Ends a request with the house's error shape. The rest of its body is not read, so the connection ends too. */
export function refuse(reply: HttpReply, status: number, label: string): HttpReply {
  if (hasUnreadBody(reply.request.raw)) reply.header('connection', 'close');
  return reply.code(status).send({ error: label });
}

function createServer({ log }: HttpOptions): HttpServer {
  const server = fastify({
    logger: false,
    bodyLimit: Number.MAX_SAFE_INTEGER,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: 500 },
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      // The default of 30 s would let a slow sender stay three times as long as the limits above say.
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Checked below, where the answer can be JSON.
      requireHostHeader: false,
    },
    frameworkErrors: (_error, _request, reply) => void refuse(reply, 400, 'Bad request'),
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, log),
  });
  for (const method of METHODS) {
    if (method !== 'CONNECT' && !server.supportedMethods.includes(method))
      server.addHttpMethod(method, { hasBody: true });
  }
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', (_request, _payload, done) => done(null));
  return server;
}

async function listen(server: HttpServer, { host, port }: HttpOptions): Promise<void> {
  try {
    await server.listen({ host, port });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EADDRINUSE') {
      throw new SvcError('port_in_use', `Port ${port} on ${host} is already in use by another program.`, {
        help: 'Set another one with `svc config set platforms.webhook.extra.port <port>` or WEBHOOK_PORT, or stop that program.',
        cause: error,
      });
    }
    const what = code === 'EACCES' ? `Port ${port} may not be used by this user` : `Cannot listen on ${host}:${port}`;
    throw new SvcError('invalid_input', `${what}: ${messageOf(error)}.`, {
      help: 'Change platforms.webhook.extra.host or platforms.webhook.extra.port; ports below 1024 need special rights.',
      cause: error,
    });
  }
}

async function close(server: HttpServer, signal: AbortSignal): Promise<void> {
  const cut = (): void => server.server.closeAllConnections();
  if (signal.aborted) cut();
  else signal.addEventListener('abort', cut, { once: true });
  try {
    await server.close();
  } finally {
    signal.removeEventListener('abort', cut);
  }
}

const BROKEN: Readonly<Record<string, readonly [status: string, label: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'Headers too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'Request timeout'],
};

function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket, log: Logger): void {
  const [status, label] = BROKEN[error.code ?? ''] ?? ['400 Bad Request', 'Bad request'];
  if (socket.writable && socket.bytesWritten === 0) {
    const body = JSON.stringify({ error: label });
    socket.write(
      `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    );
  }
  socket.destroySoon();
  if (error.code !== 'ECONNRESET') log.debug('A request could not be read', { code: error.code });
}

function allowedMethods(server: HttpServer, url: string): string[] {
  const path = url.split('?', 1)[0] ?? '';
  return ['GET', 'HEAD', 'POST'].filter((method) => server.findRoute({ method, url: path }) !== null);
}

function statusOf(error: unknown): number {
  const status = typeof error === 'object' && error !== null && 'statusCode' in error ? Number(error.statusCode) : 500;
  return status >= 400 && status < 500 ? status : 500;
}

function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = rawHeaders[index] ?? '';
    if (header.length === name.length && header.toLowerCase() === name) count++;
  }
  return count;
}

function hasUnreadBody(request: IncomingMessage): boolean {
  const declared =
    Number(request.headers['content-length'] ?? 0) > 0 || request.headers['transfer-encoding'] !== undefined;
  return declared && !request.complete;
}

const urlHost = (host: string): string => {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
};
