// Turns a received event into rows. The headers that are kept are those a filter may want to see again; whatever could be
// a credential is left out.

import { createHash } from 'node:crypto';
import { messageOf, SvcError } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import type { NewRun } from '../core/run.ts';
import type { NewId } from '../core/time.ts';
import { type AcceptResult, acceptEvent, type EventVerdict, type NewEvent, recordEvent } from '../store/events.ts';
import type { Store } from '../store/store.ts';
import type { DeliveryId } from './delivery-id.ts';
import type { Route } from './route.ts';
import { type RequestHeaders, SCHEMES } from './schemes.ts';

export interface Received {
  route: Route;
  event: string;
  delivery: DeliveryId;
  headers: RequestHeaders;
  body: string;
  receivedAt: number;
}

export interface Recorder {
  /** An event that starts nothing. Nobody waits for it, and losing one does no harm. */
  record(received: Received, verdict: EventVerdict, reason?: string): void;
  /** Resolves when the event is durable, or says why it was not taken. */
  accept(eventId: string, received: Received, verdict: EventVerdict, run: NewRun | undefined): Promise<Acceptance>;
}

export type Acceptance = AcceptResult | { kind: 'not_stored' };

export function createRecorder(options: {
  store: Pick<Store, 'write'>;
  limits: { rateLimit: number };
  newId: NewId;
  log: Logger;
}): Recorder {
  const { store, limits, newId, log } = options;
  return {
    record: (received, verdict, reason) => {
      store
        .write(recordEvent(rowOf(newId('evt'), received, verdict, reason)))
        .catch((error) => log.debug('An ignored event was not kept', { reason: messageOf(error) }));
    },
    accept: async (eventId, received, verdict, run) => {
      const { route, delivery } = received;
      try {
        return await store.write(
          acceptEvent({
            event: rowOf(eventId, received, verdict),
            // A name holds no slash, so that two routes never share a key.
            ...(delivery.given ? { deliveryKey: `${route.name}/${delivery.id}` } : {}),
            ...(route.dedupeBody ? { bodyKey: `${route.name}/${digest(received.body)}` } : {}),
            rateLimit: limits.rateLimit,
            ...(run ? { run } : {}),
          }),
        );
      } catch (error) {
        const code = error instanceof SvcError ? error.code : undefined;
        log.error('An event could not be stored', { route: route.name, code, reason: messageOf(error) });
        return { kind: 'not_stored' };
      }
    },
  };
}

function rowOf(id: string, received: Received, verdict: EventVerdict, reason?: string): NewEvent {
  return {
    id,
    route: received.route.name,
    event: received.event,
    deliveryId: received.delivery.id,
    verdict,
    ...(reason === undefined ? {} : { reason }),
    receivedAt: received.receivedAt,
    headers: keptHeaders(received.headers),
    body: received.body,
  };
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

const CREDENTIALS = new Set([...SCHEMES.map((scheme) => scheme.header), 'x-hostb-token']);
const CREDENTIAL_NAME = /token|secret|auth|cookie|password|signature|api-?key/;
/** They say something about the connection, nothing about the event. */
const TRANSPORT = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'accept',
  'accept-encoding',
  'expect',
]);
/** Senders repeat the same few names: looking one up is cheaper than matching it again. */
const verdicts = new Map<string, boolean>();
const MAX_VERDICTS = 1000;

function isKept(name: string): boolean {
  const known = verdicts.get(name);
  if (known !== undefined) return known;
  const kept = !CREDENTIALS.has(name) && !TRANSPORT.has(name) && !CREDENTIAL_NAME.test(name);
  if (verdicts.size < MAX_VERDICTS) verdicts.set(name, kept);
  return kept;
}

function keptHeaders(headers: RequestHeaders): string {
  const kept: Record<string, string | string[]> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && isKept(name)) kept[name] = value;
  }
  return JSON.stringify(kept);
}
