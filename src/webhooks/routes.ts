// All routes: those of config.yaml, then the subscriptions. The subscription file is followed by modification time and
// size on every look-up; while it is broken, the last good one counts.

import { z } from 'zod';
import { issueSentence } from '../config/issue-text.ts';
import { type Config, type RouteConfig, routeSchema } from '../config/schema.ts';
import { messageOf, SvcError } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { followFile } from '../system/files.ts';
import { INSECURE, makeRoute, type Route } from './route.ts';
import { parseSubscriptions, type SubscriptionRecord } from './subscriptions.ts';

export interface Routes {
  /** The route that answers under this name now; a disabled one does not exist. */
  find(name: string): Route | undefined;
  /** Everything that answers now, by name. */
  all(): Route[];
}

type WebhookSettings = Config['platforms']['webhook']['extra'];

/** Throws SvcError `config_invalid` with every problem of the static routes; broken subscriptions are only logged. */
export function openRoutes(settings: WebhookSettings, subscriptionFile: string, log: Logger): Routes {
  const staticRoutes = makeStaticRoutes(settings, log);
  let dynamicRoutes: ReadonlyMap<string, Route> = new Map();
  let reported: unknown;
  const follow = followFile(subscriptionFile, (text) => makeDynamicRoutes(parseSubscriptions(text), settings, log));
  const current = (): ReadonlyMap<string, Route> => {
    try {
      dynamicRoutes = follow();
      reported = undefined;
    } catch (error) {
      // The same broken file throws the same error on every request: one line is enough.
      if (error !== reported)
        log.error('The subscription file is broken; the last good one stays in use', {
          file: subscriptionFile,
          reason: messageOf(error),
        });
      reported = error;
    }
    return dynamicRoutes;
  };
  return {
    find: (name) => {
      const known = staticRoutes.get(name);
      if (known !== undefined) return known === 'disabled' ? undefined : known;
      return current().get(name);
    },
    all: () => {
      const routes = new Map<string, Route | 'disabled'>([...current(), ...staticRoutes]);
      return [...routes.values()]
        .filter((route) => route !== 'disabled')
        .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    },
  };
}

/** What a subscription record means as a route; unknown keys of newer versions do no harm. */
export function subscriptionConfig(
  record: SubscriptionRecord,
): { kind: 'config'; config: RouteConfig } | { kind: 'problem'; problem: string } {
  const parsed = subscriptionSchema.safeParse(record);
  if (parsed.success) return { kind: 'config', config: parsed.data };
  return { kind: 'problem', problem: parsed.error.issues.map((issue) => issueSentence(issue, record)).join(' ') };
}

const subscriptionSchema = z.object(routeSchema.shape);

function makeStaticRoutes(settings: WebhookSettings, log: Logger): ReadonlyMap<string, Route | 'disabled'> {
  const routes = new Map<string, Route | 'disabled'>();
  const problems: string[] = [];
  for (const [name, config] of Object.entries(settings.routes)) {
    const checked = makeRoute(name, config, settings.secret);
    if (checked.kind === 'problems') problems.push(...checked.problems);
    else {
      routes.set(name, config.enabled ? checked.route : 'disabled');
      warnIfOpen(checked.route, log);
    }
  }
  if (problems.length === 0) return routes;
  throw new SvcError('config_invalid', `The webhook routes cannot be served:\n- ${problems.join('\n- ')}`, {
    help: 'Mend platforms.webhook.extra.routes in config.yaml, then start the gateway again.',
  });
}

function makeDynamicRoutes(
  subscriptions: ReadonlyMap<string, SubscriptionRecord>,
  settings: WebhookSettings,
  log: Logger,
): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>();
  for (const [name, record] of subscriptions) {
    const read = subscriptionConfig(record);
    if (read.kind === 'problem') {
      log.error('A subscription is left out', { route: name, reason: read.problem });
      continue;
    }
    if (!read.config.enabled) continue;
    const checked = makeRoute(name, read.config, settings.secret);
    if (checked.kind === 'problems') log.error('A subscription is left out', { route: name, reason: checked.problems });
    else {
      routes.set(name, checked.route);
      warnIfOpen(checked.route, log);
    }
  }
  return routes;
}

function warnIfOpen(route: Route, log: Logger): void {
  if (route.auth === undefined)
    log.warn(`Route ${route.name} uses ${INSECURE}: anyone on this machine can start it`, { route: route.name });
}
