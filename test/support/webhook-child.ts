// A receiving gateway and nothing else (no agent, no outbox), as a process that can be killed. Prints its address.
// `early` answers before anything is stored: the mistake that the crash test must be able to see.

import { join } from 'node:path';
import { configSchema } from '../../src/config/schema.ts';
import { silentLog } from '../../src/core/log.ts';
import { startHttpServer } from '../../src/http/server.ts';
import { addWebhookRoute } from '../../src/http/webhook-route.ts';
import { openStore } from '../../src/store/open.ts';
import type { Operation } from '../../src/store/operation.ts';
import { newId, realClock } from '../../src/system/clock.ts';
import { createReceive } from '../../src/webhooks/receive.ts';
import { openRoutes } from '../../src/webhooks/routes.ts';

const [home = '', mode = 'honest'] = process.argv.slice(2);
const { extra } = configSchema.parse({
  platforms: { webhook: { extra: { secret: 'a-secret-for-tests', rate_limit: 1e9, routes: { a: { prompt: 'Hi' } } } } },
}).platforms.webhook;
const store = await openStore({ file: join(home, 'svc.db') }, { mode: 'threaded' });
const early = {
  write: async <T>(operation: Operation<T>): Promise<T> => {
    void store.write(operation);
    return { kind: 'stored' } as T;
  },
};
const receive = createReceive({
  routes: openRoutes(extra, join(home, 'webhook_subscriptions.json'), silentLog),
  store: mode === 'early' ? early : store,
  limits: { maxBodyBytes: extra.max_body_bytes, rateLimit: extra.rate_limit },
  clock: realClock,
  newId,
  log: silentLog,
  deliverer: { problem: () => undefined, attempt: async () => ({ kind: 'delivered' }) },
  fireJob: async () => ({ kind: 'refused', reason: 'there are no jobs here' }),
  runQueued() {},
});
const http = await startHttpServer({
  host: '127.0.0.1',
  port: 0,
  log: silentLog,
  routes: [(server) => addWebhookRoute(server, receive, realClock.now)],
});
process.stdout.write(`${http.url}\n`);
