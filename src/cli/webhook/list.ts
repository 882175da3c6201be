// Lists, shows and removes subscriptions. Reads two files and nothing else.

import { homePaths, resolveHome } from '../../config/paths.ts';
import { SvcError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import {
  changeSubscriptions,
  readSubscriptions,
  type SubscriptionRecord,
  type Subscriptions,
} from '../../webhooks/subscriptions.ts';
import type { CliContext } from '../command.ts';
import { printDetails, printJson, printListing } from '../listing.ts';
import { isFromChat, requireMadeInChat } from './from-chat.ts';
import { gatewayUrl, type PeekedRoute, peekRoute, peekSettings } from './settings.ts';

interface Listed extends PeekedRoute {
  source: 'config' | 'subscription';
  note: string;
  url: string;
}

export async function list(context: CliContext, { json }: { json?: true }): Promise<void> {
  const paths = homePaths(resolveHome(context.env));
  const settings = await peekSettings(paths, context.env);
  const base = gatewayUrl(paths, settings);
  const fixed = new Set(settings.routes.map((route) => route.name));
  const listed: Listed[] = [...readSubscriptions(paths.subscriptions)].map(([name, record]) => ({
    ...peekRoute(name, record),
    source: 'subscription',
    note: noteOf(record, fixed.has(name)),
    url: `${base}/webhooks/${name}`,
  }));
  for (const route of settings.routes)
    listed.push({ ...route, source: 'config', note: '', url: `${base}/webhooks/${route.name}` });
  printListing(context, listed, {
    json: json === true,
    columns: [
      { title: 'NAME', value: (route) => route.name },
      { title: 'FROM', value: (route) => [route.source, route.note].filter(Boolean).join(', ') },
      { title: 'EVENTS', value: (route) => route.events.join(', ') || 'all' },
      { title: 'DELIVER', value: (route) => route.deliver },
      { title: 'URL', value: (route) => route.url },
      { title: 'DESCRIPTION', value: (route) => route.description },
    ],
    toJson: ({ name, source, events, deliver, url, description, note }) => ({
      name,
      source,
      events,
      deliver,
      url,
      description,
      note: note || null,
    }),
    empty: 'No subscriptions yet. Make one: svc webhook subscribe <name>',
  });
}

export async function show(context: CliContext, name: string, options: { reveal?: true; json?: true }): Promise<void> {
  const paths = homePaths(resolveHome(context.env));
  const record = findSubscription(readSubscriptions(paths.subscriptions), name);
  const url = `${gatewayUrl(paths, await peekSettings(paths, context.env))}/webhooks/${name}`;
  const secrets = options.reveal ? secretsOf(record) : await Promise.all(secretsOf(record).map(fingerprint));
  if (options.json) {
    printJson(context, { name, url, ...record, secret: secrets.length > 1 ? secrets : (secrets[0] ?? null) });
    return;
  }
  const { secret: _, ...rest } = record;
  printDetails(context, [
    ['name', name],
    ['url', url],
    ['secret', secrets.join(', ') || 'the global one'],
    ...Object.entries(rest).map(
      ([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)] as const,
    ),
  ]);
}

export async function remove(context: CliContext, name: string): Promise<void> {
  const paths = homePaths(resolveHome(context.env));
  changeSubscriptions(paths.subscriptions, (subscriptions) => {
    const record = findSubscription(subscriptions, name);
    if (isFromChat(context.env)) requireMadeInChat(name, record);
    subscriptions.delete(name);
  });
  context.stdout.write(`Removed ${name}. A running gateway answers 404 from now on.\n`);
}

/** Throws SvcError `not_found` with a name that is alike. */
export function findSubscription(subscriptions: Subscriptions, name: string): SubscriptionRecord {
  const record = subscriptions.get(name);
  if (record !== undefined) return record;
  const meant = nearest(name, [...subscriptions.keys()]);
  throw new SvcError('not_found', `There is no subscription ${name}.`, {
    help: meant === undefined ? '`svc webhook list` shows what there is.' : `Did you mean ${meant}?`,
  });
}

export function secretsOf(record: SubscriptionRecord): string[] {
  const { secret } = record;
  if (typeof secret === 'string') return [secret];
  return Array.isArray(secret) ? secret.map(String) : [];
}

function noteOf(record: SubscriptionRecord, isShadowed: boolean): string {
  if (isShadowed) return 'hidden by config.yaml';
  return record.enabled === false ? 'disabled' : '';
}

async function fingerprint(secret: string): Promise<string> {
  if (secret === 'INSECURE_NO_AUTH') return secret;
  // Loaded here because listing must begin quickly.
  const { createHash } = await import('node:crypto');
  return `sha256:${createHash('sha256').update(secret).digest('hex').slice(0, 12)}`;
}
