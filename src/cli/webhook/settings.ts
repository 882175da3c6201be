// What config.yaml says about webhooks, read as plain YAML: no schema, no checks, so that listing is quick.
// Whatever must be right goes through config/load.ts instead.

import { expandReferences, mergeEnvironment } from '../../config/environment.ts';
import type { HomePaths } from '../../config/paths.ts';
import { peekConfig } from '../../config/peek.ts';
import { readIfExistsSync } from '../../system/files.ts';
import { findGateway } from '../find-gateway.ts';

export interface PeekedRoute {
  name: string;
  events: string[];
  deliver: string;
  description: string;
}

export interface PeekedSettings {
  publicUrl: string | undefined;
  host: string;
  port: number;
  routes: PeekedRoute[];
}

/** What is broken reads as absent. */
export async function peekSettings(paths: HomePaths, env: NodeJS.ProcessEnv): Promise<PeekedSettings> {
  const extra = groupAt(await peekConfig(paths.config, ['public_url', 'host', 'port', 'routes']), [
    'platforms',
    'webhook',
    'extra',
  ]);
  const variables = mergeEnvironment(env, dotEnvOf(paths));
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' ? expandReferences(value, variables, () => {}) : undefined;
  const port = typeof extra.port === 'number' ? extra.port : text(extra.port);
  return {
    publicUrl: text(extra.public_url),
    host: text(extra.host) ?? '0.0.0.0',
    port: Number(variables.WEBHOOK_PORT || port || 8644),
    routes: Object.entries(groupAt(extra, ['routes'])).map(([name, route]) => {
      const { deliver, description, ...rest } = peekRoute(name, route);
      return { ...rest, deliver: text(deliver) ?? deliver, description: text(description) ?? description };
    }),
  };
}

/** The same for a subscription record. */
export function peekRoute(name: string, route: unknown): PeekedRoute {
  const { events, deliver, description } = groupAt(route, []);
  return {
    name,
    events: Array.isArray(events) ? events.map(String) : [],
    deliver: typeof deliver === 'string' ? deliver : 'log',
    description: typeof description === 'string' ? description : '',
  };
}

/** How senders reach the gateway: as set, as it runs, or as it would. */
export function gatewayUrl(paths: HomePaths, { publicUrl, host, port }: Omit<PeekedSettings, 'routes'>): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '');
  const running = findGateway(paths);
  if (running !== undefined) return running.url;
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

function dotEnvOf(paths: HomePaths): string | undefined {
  try {
    return readIfExistsSync(paths.env);
  } catch {
    return undefined;
  }
}

function groupAt(value: unknown, path: readonly string[]): Record<string, unknown> {
  let found: unknown = value;
  for (const step of path) found = isGroup(found) ? found[step] : undefined;
  return isGroup(found) ? found : {};
}

const isGroup = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
