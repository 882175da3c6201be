// A request in, a reply out. This is the only file that knows the order of the checks; nothing here throws for anything a
// sender can do.

import { isUtf8 } from 'node:buffer';
import { type Json, type ParsedJson, parseJson, valueAt } from '../core/json.ts';
import type { Logger } from '../core/log.ts';
import type { Clock, NewId } from '../core/time.ts';
import type { Store } from '../store/store.ts';
import { carryOut, type Effects } from './carry-out.ts';
import { createDeliveryIds } from './delivery-id.ts';
import { eventType, takesEvent } from './event.ts';
import { applyFilters } from './filters.ts';
import { isLocalClient } from './local-client.ts';
import { createRecorder } from './record.ts';
import { createRefusals } from './refusals.ts';
import type { Reply } from './reply.ts';
import type { Routes } from './routes.ts';
import { type RequestHeaders, recognise, type Scheme } from './schemes.ts';
import { signatureProblem } from './signature.ts';

export interface Incoming {
  method: string;
  routeName: string;
  headers: RequestHeaders;
  /** The address of the other end of the connection. */
  client: string | undefined;
  /** What the sender says its body measures; undefined when it does not say. */
  declaredBytes: number | undefined;
  receivedAt: number;
  /** May be called once. Stops at `maxBytes`, when the sender is too slow or gone, and when too much is being read. */
  readBody(maxBytes: number): Promise<ReadBody>;
}

export type ReadBody =
  | { kind: 'body'; bytes: Buffer }
  | { kind: 'too_large' }
  | { kind: 'timed_out' }
  | { kind: 'busy' };

export interface ReceiveOptions extends Effects {
  routes: Routes;
  store: Pick<Store, 'write'>;
  limits: { maxBodyBytes: number; rateLimit: number };
  clock: Clock;
  newId: NewId;
  log: Logger;
}

export type Receive = (request: Incoming) => Promise<Reply>;

export function createReceive(options: ReceiveOptions): Receive {
  const { routes, limits, log } = options;
  const deliveryIdOf = createDeliveryIds();
  const refusals = createRefusals(log, options.clock);
  const recorder = createRecorder(options);

  return async (request) => {
    const route = routes.find(request.routeName);
    if (!route) return { kind: 'unknown_route' };
    if (request.method !== 'POST') return { kind: 'wrong_method' };
    if (!route.auth && !isLocalClient(request.client, request.headers)) return { kind: 'loopback_only' };
    if ((request.declaredBytes ?? 0) > limits.maxBodyBytes) return { kind: 'too_large' };
    if (isEncoded(request.headers)) return { kind: 'encoded' };
    const scheme = route.auth && recognise(route.auth.schemes, request.headers);
    if (route.auth && !scheme) return unauthorized(route.name, 'no signature header');

    const body = await request.readBody(limits.maxBodyBytes);
    if (body.kind === 'busy') return { kind: 'not_stored', retryAfterS: 5 };
    if (body.kind !== 'body') return body;
    const { headers, receivedAt } = request;
    const wrong =
      route.auth && scheme && signatureProblem(scheme, route.auth.secrets, { headers, body: body.bytes, receivedAt });
    if (wrong !== undefined) return unauthorized(route.name, wrong);
    refusals.genuine(route.name);

    const text = isUtf8(body.bytes) ? body.bytes.toString('utf8') : undefined;
    const parsed = parsePayload(text);
    if (parsed.kind === 'invalid' || text === undefined) return { kind: 'bad_request', reason: reasonOf(parsed) };
    const payload = parsed.value;
    const challenge = challengeOf(scheme, payload);
    if (challenge !== undefined) return { kind: 'challenge', challenge };

    const event = eventType(scheme, headers, payload);
    const delivery = deliveryIdOf(scheme, headers, payload, receivedAt);
    const received = { route, event: event.name, delivery, headers, body: text, receivedAt };
    if (!takesEvent(route.events, event)) {
      log.debug('Event ignored', { route: route.name, event: event.name });
      recorder.record(received, 'ignored');
      return { kind: 'ignored', event: event.name };
    }
    if (route.filters !== undefined) {
      const verdict = applyFilters(route.filters, { payload, event: event.name, headers });
      if (verdict.kind === 'filtered') {
        log.info('Event filtered', { route: route.name, event: event.name, reason: verdict.reason });
        recorder.record(received, 'filtered', verdict.reason);
        return { kind: 'filtered', route: route.name, event: event.name };
      }
    }
    // Duplicate, rate limit and commit are one step in the store, so that a hundred copies at once make one run.
    return carryOut(received, payload, recorder, options);
  };

  function unauthorized(route: string, reason: string): Reply {
    refusals.refused(route, reason);
    return { kind: 'unauthorized' };
  }
}

/** The bytes that were signed are the bytes that are parsed: nothing is unpacked in between. */
const isEncoded = (headers: RequestHeaders): boolean => {
  const encoding = headers['content-encoding'];
  return encoding !== undefined && encoding !== '' && encoding !== 'identity';
};

const parsePayload = (text: string | undefined): ParsedJson =>
  text === undefined ? { kind: 'invalid', reason: 'not valid UTF-8' } : parseJson(text);

const reasonOf = (parsed: ParsedJson): string => (parsed.kind === 'invalid' ? parsed.reason : '');

function challengeOf(scheme: Scheme | undefined, payload: Json): string | undefined {
  if (scheme?.challengeType === undefined || valueAt(payload, ['type']) !== scheme.challengeType) return undefined;
  const challenge = valueAt(payload, ['challenge']);
  return typeof challenge === 'string' ? challenge : undefined;
}
