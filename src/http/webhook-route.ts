// POST /webhooks/<name> in the words of HTTP. Every rule, and the order of the checks, is in webhooks/receive.ts.

import type { Receive } from '../webhooks/receive.ts';
import { toHttp } from '../webhooks/reply.ts';
import { createBodyReader, declaredBytes, endsConnection } from './raw-body.ts';
import type { HttpServer } from './server.ts';

/** Adds the route. `now` is the time of arrival for windows and ids. */
export function addWebhookRoute(server: HttpServer, receive: Receive, now: () => number): void {
  const bodies = createBodyReader();
  server.all<{ Params: { name: string } }>('/webhooks/:name', async (request, reply) => {
    const { raw } = request;
    const answer = toHttp(
      await receive({
        method: raw.method ?? '',
        routeName: request.params.name,
        headers: raw.headers,
        client: raw.socket.remoteAddress,
        declaredBytes: declaredBytes(raw),
        receivedAt: now(),
        readBody: (maxBytes) => bodies.read(raw, reply.raw, maxBytes),
      }),
    );
    reply.code(answer.status).header('content-type', 'application/json; charset=utf-8');
    if (answer.headers) reply.headers(answer.headers);
    if (endsConnection(raw)) reply.header('connection', 'close');
    return reply.send(answer.body);
  });
}
