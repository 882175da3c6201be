// Joins the webhook gateway: routes, the store, direct deliveries, jobs, and the removal of old events.

import type { App } from './app.ts';
import type { HttpServer } from './http/server.ts';
import { addWebhookRoute } from './http/webhook-route.ts';
import { fireForEvent } from './job-parts.ts';
import { routeFaults } from './references.ts';
import { createReceive } from './webhooks/receive.ts';
import { startEventRetention } from './webhooks/retention.ts';
import { openRoutes } from './webhooks/routes.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const MEGABYTE = 1024 * 1024;

export interface WebhookParts {
  addRoutes(server: HttpServer): void;
  stop(): Promise<void>;
}

/** Throws SvcError `config_invalid` with every problem of the routes. */
export async function openWebhooks(app: App, wake: { runs(): void }): Promise<WebhookParts> {
  const { config } = await app.config();
  const { extra } = config.platforms.webhook;
  const { clock, newId } = app;
  const log = app.log.child({ part: 'webhooks' });
  const store = await app.store();
  const deliverer = await app.delivery();
  const routes = openRoutes(extra, app.paths.subscriptions, log);
  for (const route of routes.all().filter(({ name }) => !Object.hasOwn(extra.routes, name))) {
    const { errors, warnings } = await routeFaults(app, route);
    for (const reason of [...errors, ...warnings])
      log.warn('A subscription does not work as things are set up', { route: route.name, reason });
  }
  const receive = createReceive({
    routes,
    store,
    deliverer,
    limits: { maxBodyBytes: extra.max_body_bytes, rateLimit: extra.rate_limit },
    clock,
    newId,
    log,
    fireJob: (job, cause) => fireForEvent(app, job, cause),
    runQueued: wake.runs,
  });
  const keep = { keepMs: extra.keep_days * DAY_MS, keepBytes: extra.keep_megabytes * MEGABYTE };
  const alone = config.database.url === undefined;
  const retention = startEventRetention({ store, clock, log, alone, ...keep });
  return {
    addRoutes: (server) => addWebhookRoute(server, receive, clock.now),
    stop: () => retention.stop(),
  };
}
