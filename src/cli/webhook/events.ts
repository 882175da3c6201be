// The stored deliveries, as a list or one in full.

import { existsSync } from 'node:fs';
import type { App } from '../../app.ts';
import { SvcError } from '../../core/errors.ts';
import { getEvent, listEvents, type StoredEvent } from '../../store/events.ts';
import type { CliContext } from '../command.ts';
import { printDetails, printJson, printListing } from '../listing.ts';
import { wholeNumber } from '../numbers.ts';
import { withApp } from '../with-app.ts';

export const MAX_LISTED = 100_000;

export async function listStored(
  context: CliContext,
  options: { route?: string; deliveryId?: string; limit: string; json?: true },
): Promise<void> {
  const limit = wholeNumber(options.limit, '--limit', MAX_LISTED);
  const events = await withApp(context, async (app) => {
    if (!(await hasStore(app))) return [];
    return (await app.store()).read(
      listEvents({
        limit,
        ...(options.route === undefined ? {} : { route: options.route }),
        ...(options.deliveryId === undefined ? {} : { deliveryId: options.deliveryId }),
      }),
    );
  });
  printListing(context, events, {
    json: options.json === true,
    columns: [
      { title: 'ID', value: (event) => event.id },
      { title: 'RECEIVED', value: (event) => time(event.receivedAt) },
      { title: 'ROUTE', value: (event) => event.route },
      { title: 'EVENT', value: (event) => event.event },
      { title: 'DELIVERY ID', value: (event) => event.deliveryId },
      { title: 'VERDICT', value: (event) => event.verdict },
      { title: 'RUN', value: (event) => event.runState },
      { title: 'REASON', value: (event) => event.reason },
    ],
    toJson: toWire,
    empty: 'No deliveries stored.',
  });
}

export async function showStored(context: CliContext, id: string, { json }: { json?: true }): Promise<void> {
  const event = await withApp(context, (app) => findEvent(app, id));
  if (json) {
    printJson(context, { ...toWire(event), headers: JSON.parse(event.headers), payload: JSON.parse(event.body) });
    return;
  }
  printDetails(context, [
    ['id', event.id],
    ['received', time(event.receivedAt)],
    ['route', event.route],
    ['event', event.event],
    ['delivery id', event.deliveryId],
    ['verdict', event.verdict],
    ['reason', event.reason],
    ['run', event.runId && `${event.runId} ${event.runState ?? 'removed'}`],
    ['headers', event.headers],
    ['payload', JSON.stringify(JSON.parse(event.body), null, 2)],
  ]);
}

/** Throws SvcError `not_found`. */
export async function findEvent(app: App, id: string): Promise<StoredEvent> {
  const event = (await hasStore(app)) ? await (await app.store()).read(getEvent({ id })) : undefined;
  if (event !== undefined) return event;
  throw new SvcError('not_found', `There is no stored event ${id}.`, {
    help: 'Find its id with `svc webhook events`.',
  });
}

/** Looking must not create a database where nothing has come in yet. */
async function hasStore(app: App): Promise<boolean> {
  const { config } = await app.config();
  return config.database.url !== undefined || existsSync(app.paths.database);
}

const toWire = (event: StoredEvent) => ({
  id: event.id,
  received_at: time(event.receivedAt),
  route: event.route,
  event: event.event,
  delivery_id: event.deliveryId,
  verdict: event.verdict,
  reason: event.reason ?? null,
  run_id: event.runId ?? null,
  run_state: event.runState ?? null,
  bytes: event.bytes,
});

const time = (at: number): string => new Date(at).toISOString();
