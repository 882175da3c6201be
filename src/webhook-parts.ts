// Joins the webhook gateway: routes, the store, direct deliveries, jobs, and the removal of old events.

import type { App } from './app.ts';
import { addressWithExtra } from './core/address.ts';
import type { HttpServer } from './http/server.ts';
import { addWebhookRoute } from './http/webhook-route.ts';
import { fireForEvent } from './job-parts.ts';
import { createReceive } from './webhooks/receive.ts';
import { startEventRetention } from './webhooks/retention.ts';
import type { Route } from './webhooks/route.ts';
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
  for (const route of routes.all()) {
    const reason = fixedProblem(route, deliverer.problem);
    if (reason !== undefined) log.warn('A route cannot deliver as things are set up', { route: route.name, reason });
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
  const retention = startEventRetention({ store, clock, log, ...keep });
  return {
    addRoutes: (server) => addWebhookRoute(server, receive, clock.now),
    stop: () => retention.stop(),
  };
}

/** What can be said before the first event: values that come from payloads are not there yet. */
function fixedProblem(route: Route, problemOf: (address: Route['addresses'][number]) => string | undefined) {
  if (route.cronJob !== undefined || route.deliverExtra.some(({ value }) => value.parts.some((part) => 'path' in part)))
    return undefined;
  const extra = Object.fromEntries(route.deliverExtra.map(({ key, value }) => [key, value.source]));
  for (const address of route.addresses) {
    const problem = problemOf(addressWithExtra(address, extra));
    if (problem !== undefined) return problem;
  }
  return undefined;
}
