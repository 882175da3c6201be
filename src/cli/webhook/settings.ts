// What config.yaml says about webhooks, read as plain YAML: no schema, no checks, so that listing is quick.
// Whatever must be right goes through config/load.ts instead.

import type { HomePaths } from '../../config/paths.ts';
import { peekConfig } from '../../config/peek.ts';
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
  return {
    publicUrl: typeof extra.public_url === 'string' ? extra.public_url : undefined,
    host: typeof extra.host === 'string' ? extra.host : '0.0.0.0',
    port: Number(env.WEBHOOK_PORT || extra.port || 8644),
    routes: Object.entries(groupAt(extra, ['routes'])).map(([name, route]) => peekRoute(name, route)),
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

function groupAt(value: unknown, path: readonly string[]): Record<string, unknown> {
  let found: unknown = value;
  for (const step of path) found = isGroup(found) ? found[step] : undefined;
  return isGroup(found) ? found : {};
}

const isGroup = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
