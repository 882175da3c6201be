// POST /webhooks/<name> in the words of HTTP. Every rule, and the order of the checks, is in webhooks/receive.ts.

import type { Receive } from '../webhooks/receive.ts';
import { toHttp } from '../webhooks/reply.ts';
import { createBodyReader, declaredBytes, endsConnection } from './raw-body.ts';
import type { HttpReply, HttpRequest, HttpServer } from './server.ts';

/** Adds the route. `now` is the time of arrival for windows and ids. */
export function addWebhookRoute(server: HttpServer, receive: Receive, now: () => number): void {
  const bodies = createBodyReader();
  // Answered in the first hook: what the framework does between here and a handler (parsing, validating, serialising)
  // is not needed, and it costs a fifth of a request.
  const onRequest = (request: HttpRequest, reply: HttpReply, done: (error?: Error) => void): void => {
    const { raw } = request;
    receive({
      method: raw.method ?? '',
      routeName: (request.params as { name: string }).name,
      headers: raw.headers,
      client: raw.socket.remoteAddress,
      declaredBytes: declaredBytes(raw),
      receivedAt: now(),
      readBody: (maxBytes) => bodies.read(raw, reply.raw, maxBytes),
    }).then((outcome) => {
      const { status, body, headers } = toHttp(outcome);
      reply.hijack();
      reply.raw.writeHead(status, {
        'content-type': 'application/json; charset=utf-8',
        'content-length': Buffer.byteLength(body),
        ...headers,
        // A connection kept alive would keep a server that is being stopped from ending.
        ...(endsConnection(raw) || !server.server.listening ? { connection: 'close' } : {}),
      });
      reply.raw.end(body);
    }, done);
  };
  server.all('/webhooks/:name', { onRequest }, () => undefined);
}
