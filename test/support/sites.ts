// Web sites for browser tests: any name ending in `.test` is a site of its own on one loopback port, because Chromium is
// told to map those names. A page is a function of its host and URL.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';

export interface Reply {
  body?: string;
  status?: number;
  headers?: Record<string, string>;
}

export type Pages = (host: string, url: URL, request: IncomingMessage) => Reply | Promise<Reply> | undefined;

export interface Sites {
  port: number;
  /** `url('a', '/x')` is `http://a.test:<port>/x`. */
  url(site: string, path?: string): string;
  close(): Promise<void>;
}

/** What Chromium needs to find these sites and to keep them in processes of their own. */
export const SITE_FLAGS = [
  '--host-resolver-rules=MAP *.test 127.0.0.1',
  '--site-per-process',
  '--ignore-certificate-errors',
];

export async function startSites(pages: Pages, tls?: { key: string; cert: string }): Promise<Sites> {
  const scheme = tls ? 'https' : 'http';
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', `${scheme}://${request.headers.host ?? 'none'}`);
    const reply = (await pages(url.hostname.replace(/\.test$/, ''), url, request)) ?? {
      status: 404,
      body: 'no such page',
    };
    response.writeHead(reply.status ?? 200, { 'content-type': 'text/html; charset=utf-8', ...reply.headers });
    response.end(reply.body ?? '');
  };
  const server: Server = tls ? createTlsServer(tls, handle) : createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    port,
    url: (site, path = '/') => `${scheme}://${site}.test:${port}${path}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
