// The sockets that all models of a process share. Loaded with the first call, because undici costs start-up time.

import type { Dispatcher, request } from 'undici';
import type { HttpCaller } from '../../system/fetch-json.ts';

export interface Transport {
  /** For model calls. Local servers are reached directly, others through the proxy of the environment if there is one. */
  open(local: boolean): Promise<{ request: typeof request; dispatcher: Dispatcher }>;
  /** For short questions. */
  http(): Promise<HttpCaller>;
  /** Aborts when the transport closes. */
  readonly closing: AbortSignal;
  /** Ends every call. Calling it twice is fine. */
  close(): Promise<void>;
}

export function createTransport(env: Readonly<Record<string, string | undefined>>): Transport {
  const closing = new AbortController();
  const closers: (() => Promise<void>)[] = [];
  let direct: Dispatcher | undefined;
  let proxied: Dispatcher | undefined;
  let caller: Promise<HttpCaller> | undefined;

  const keep = <T extends Dispatcher>(dispatcher: T): T => {
    closers.push(() => dispatcher.destroy());
    return dispatcher;
  };

  return {
    async open(local) {
      const undici = await import('undici');
      // One protocol with one meaning of "nothing came": the socket clock must not depend on what a server negotiates.
      const options = { allowH2: false, connect: { timeout: 10_000 } };
      const proxy = local ? undefined : proxyOf(env);
      if (proxy) {
        proxied ??= keep(new undici.EnvHttpProxyAgent({ ...options, ...proxy }));
        return { request: undici.request, dispatcher: proxied };
      }
      direct ??= keep(new undici.Agent(options));
      return { request: undici.request, dispatcher: direct };
    },
    http() {
      caller ??= import('../../system/fetch-json.ts').then(({ createHttpCaller }) => {
        const made = createHttpCaller();
        closers.push(() => made.close());
        return made;
      });
      return caller;
    },
    closing: closing.signal,
    async close() {
      closing.abort();
      await Promise.all(closers.splice(0).map((close) => close()));
    },
  };
}

function proxyOf(
  env: Readonly<Record<string, string | undefined>>,
): { httpProxy?: string; httpsProxy?: string; noProxy?: string } | undefined {
  const httpProxy = env.http_proxy ?? env.HTTP_PROXY;
  const httpsProxy = env.https_proxy ?? env.HTTPS_PROXY;
  const noProxy = env.no_proxy ?? env.NO_PROXY;
  if (!httpProxy && !httpsProxy) return undefined;
  return {
    ...(httpProxy ? { httpProxy } : {}),
    ...(httpsProxy ? { httpsProxy } : {}),
    ...(noProxy ? { noProxy } : {}),
  };
}
