// The connection cap: when it is reached, the connection that has been idle for longest makes room; when none is idle,
// the new one is dropped.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '../core/log.ts';

export function limitConnections(server: Server, max: number, log: Logger): void {
  // Ordered by when they last became idle; a busy one is only in `open`.
  const idle = new Set<Socket>();
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    if (open.size >= max) {
      const [oldest] = idle;
      (oldest ?? socket).destroy();
      log.debug('Too many connections', { open: open.size, dropped: oldest === undefined ? 'new' : 'idle' });
      if (oldest === undefined) return;
      forget(oldest);
    }
    open.add(socket);
    idle.add(socket);
    socket.once('close', () => forget(socket));
  });
  const onRequest = ({ socket }: IncomingMessage, response: ServerResponse): void => {
    idle.delete(socket);
    response.once('close', () => {
      if (open.has(socket)) idle.add(socket);
    });
  };
  server.prependListener('request', onRequest);

  function forget(socket: Socket): void {
    open.delete(socket);
    idle.delete(socket);
  }
}
