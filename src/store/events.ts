// Webhook deliveries as they came in. `acceptEvent` is the one step that decides: duplicate, over the limit, or stored
// together with its run. It is the hot path of the gateway: three statements when all is well.

import type { NewRun, RunState } from '../core/run.ts';
import { defineOperation, type Operation, type Row, type SqlValue, type Steps, sql } from './operation.ts';
import { insertRun, insertRunRow, runRow } from './runs.ts';

export const EVENT_VERDICTS = ['accepted', 'ignored', 'filtered', 'pending', 'delivered', 'failed', 'unknown'] as const;
/**
 * `accepted` has a run (or started a job); `ignored` and `filtered` were answered and nothing else. The others belong to
 * direct deliveries: `pending` while one is on its way, `unknown` when nobody can say whether it arrived.
 */
export type EventVerdict = (typeof EVENT_VERDICTS)[number];

/** How long a delivery id is remembered. */
const REMEMBERED_MS = 3_600_000;
const RATE_WINDOW_MS = 60_000;

export interface NewEvent {
  id: string;
  route: string;
  event: string;
  deliveryId: string;
  verdict: EventVerdict;
  reason?: string;
  receivedAt: number;
  /** JSON of the request headers that may be kept. */
  headers: string;
  body: string;
}

export interface StoredEvent extends NewEvent {
  runId?: string;
  /** Where its run stands; absent without one, or when the run has been removed. */
  runState?: RunState;
  bytes: number;
}

export interface Acceptance {
  event: NewEvent;
  /** Absent when repetitions are welcome. */
  deliveryKey?: string;
  bodyKey?: string;
  /** Accepted requests of one route per minute. */
  rateLimit: number;
  run?: NewRun;
}

export type AcceptResult =
  | { kind: 'stored' }
  /** `sameBody` is false when the sender used one id for two different payloads. */
  | { kind: 'duplicate'; sameBody: boolean }
  | { kind: 'rate_limited'; retryAfterMs: number };

/**
 * Decides about one event and keeps it. What goes to the writer's thread is flat, because copying a nested value there
 * costs more than anything else on this path.
 */
export const acceptEvent = ({ event, run, rateLimit, ...keys }: Acceptance): Operation<AcceptResult> =>
  acceptRows({ event: eventRow(event, keys, run?.id), run: run ? runRow(run) : null, rateLimit });

export const acceptRows = defineOperation(
  'events.accept',
  function* (input: { event: SqlValue[]; run: SqlValue[] | null; rateLimit: number }): Steps<AcceptResult> {
    const [id = null, route = null] = input.event;
    const bytes = input.event[BYTES] ?? null;
    const receivedAt = Number(input.event[RECEIVED_AT]);
    if (!(yield* insertEvent(input.event))) {
      const duplicate = yield* freeOldKeys(input.event, receivedAt);
      if (duplicate) return duplicate;
      // Another process may have taken the key in between.
      if (!(yield* insertEvent(input.event))) return { kind: 'duplicate', sameBody: true };
    }
    const counted = yield* sql(
      `INSERT INTO route_counters (route, window_start, window_count, stored_bytes) VALUES ($1, $2, 1, $3)
     ON CONFLICT (route) DO UPDATE SET
       window_count = CASE WHEN $2 - route_counters.window_start BETWEEN $4 AND $5 THEN route_counters.window_count + 1 ELSE 1 END,
       window_start = CASE WHEN $2 - route_counters.window_start BETWEEN $4 AND $5 THEN route_counters.window_start ELSE $2 END,
       stored_bytes = route_counters.stored_bytes + $3
     WHERE route_counters.window_count < $6 OR $2 - route_counters.window_start NOT BETWEEN $4 AND $5`,
      route,
      receivedAt,
      bytes,
      // A window in the future means that the clock was set back: a little is skew, more starts a new window.
      -RATE_WINDOW_MS,
      RATE_WINDOW_MS - 1,
      input.rateLimit,
    );
    if (counted.changes === 0) {
      yield* sql('DELETE FROM events WHERE id = $1', id);
      const { rows } = yield* sql('SELECT window_start FROM route_counters WHERE route = $1', route);
      const opensAt = Number(rows[0]?.window_start ?? 0) + RATE_WINDOW_MS;
      return { kind: 'rate_limited', retryAfterMs: Math.max(1, opensAt - receivedAt) };
    }
    if (input.run) yield* insertRunRow(input.run);
    return { kind: 'stored' };
  },
);

/** Stores an event that starts nothing (`ignored`, `filtered`); it takes no id and no budget. */
export const recordEvent = defineOperation('events.record', function* (event: NewEvent): Steps<void> {
  yield* insertEvent(eventRow(event, {}, undefined));
  yield* addBytes(event.route, sizeOf(event));
});

/** Ends a `pending` event. `release` gives its delivery id back, so that the sender's retry is tried again. */
export const settleEvent = defineOperation(
  'events.settle',
  function* (input: {
    id: string;
    verdict: EventVerdict;
    reason?: string;
    runId?: string;
    release: boolean;
  }): Steps<void> {
    yield* sql(
      `UPDATE events SET verdict = $2, reason = $3, run_id = $4${input.release ? ', delivery_key = NULL, body_key = NULL' : ''}
       WHERE id = $1`,
      input.id,
      input.verdict,
      input.reason ?? null,
      input.runId ?? null,
    );
  },
);

/** What was on its way when a process died may have arrived. Its sender heard nothing and tries again, so the id is free. */
export const giveUpPending = defineOperation(
  'events.give_up_pending',
  function* ({ before }: { before: number }): Steps<number> {
    const { changes } = yield* sql(
      `UPDATE events SET verdict = 'unknown', reason = 'the gateway stopped while it was on its way',
                         delivery_key = NULL, body_key = NULL
     WHERE verdict = 'pending' AND received_at < $1`,
      before,
    );
    return changes;
  },
);

/** Queues a stored event once more; the event then points to the new run. */
export const replayEvent = defineOperation(
  'events.replay',
  function* (input: { eventId: string; run: NewRun }): Steps<boolean> {
    const { changes } = yield* sql(
      `UPDATE events SET run_id = $2, verdict = 'accepted', reason = 'replayed' WHERE id = $1`,
      input.eventId,
      input.run.id,
    );
    if (changes > 0) yield* insertRun(input.run);
    return changes > 0;
  },
);

const COLUMNS = `e.id, e.route, e.event, e.delivery_id, e.verdict, e.reason, e.run_id, e.received_at, e.bytes, e.headers, e.body,
  r.state AS run_state`;

/** Newest first. */
export const listEvents = defineOperation(
  'events.list',
  function* (input: { route?: string; deliveryId?: string; limit: number }): Steps<StoredEvent[]> {
    const { rows } = yield* sql(
      `SELECT ${COLUMNS} FROM events e LEFT JOIN runs r ON r.id = e.run_id
       WHERE ($1 = '' OR e.route = $1) AND ($2 = '' OR e.delivery_id = $2) ORDER BY e.id DESC LIMIT $3`,
      input.route ?? '',
      input.deliveryId ?? '',
      input.limit,
    );
    return rows.map(fromRow);
  },
);

export const getEvent = defineOperation('events.get', function* ({ id }: { id: string }): Steps<
  StoredEvent | undefined
> {
  const { rows } = yield* sql(
    `SELECT ${COLUMNS} FROM events e LEFT JOIN runs r ON r.id = e.run_id WHERE e.id = $1`,
    id,
  );
  return rows[0] && fromRow(rows[0]);
});

/**
 * Removes a batch of the oldest events: those before `olderThan`, and more while all together are larger than `maxBytes`.
 * Ids that still guard against repetition stay. Returns how many went; call again until it is 0.
 */
export const pruneEvents = defineOperation(
  'events.prune',
  function* (input: { now: number; olderThan: number; maxBytes: number }): Steps<number> {
    const counters = yield* sql('SELECT stored_bytes FROM route_counters');
    let excess = counters.rows.reduce((sum, row) => sum + Number(row.stored_bytes), -input.maxBytes);
    const oldest = yield* sql('SELECT id, route, received_at, bytes FROM events ORDER BY id LIMIT 500');
    const freed = new Map<string, number>();
    let last: string | undefined;
    let count = 0;
    for (const { id, route, received_at, bytes } of oldest.rows) {
      const receivedAt = Number(received_at);
      const due = receivedAt < input.olderThan || excess > 0;
      if (!due || receivedAt > input.now - REMEMBERED_MS) break;
      excess -= Number(bytes);
      freed.set(String(route), (freed.get(String(route)) ?? 0) + Number(bytes));
      last = String(id);
      count++;
    }
    if (last === undefined) return 0;
    yield* sql('DELETE FROM events WHERE id <= $1', last);
    for (const [route, bytes] of freed) yield* addBytes(route, -bytes);
    return count;
  },
);

interface Keys {
  deliveryKey?: string;
  bodyKey?: string;
}

/** In the order of the INSERT below. */
const eventRow = (event: NewEvent, keys: Keys, runId: string | undefined): SqlValue[] => [
  event.id,
  event.route,
  event.event,
  event.deliveryId,
  event.verdict,
  event.reason ?? null,
  runId ?? null,
  event.receivedAt,
  sizeOf(event),
  keys.deliveryKey ?? null,
  keys.bodyKey ?? null,
  event.headers,
  event.body,
];
const RECEIVED_AT = 7;
const BYTES = 8;
const DELIVERY_KEY = 9;
const BODY_KEY = 10;
const BODY = 12;

/** False when one of its keys is taken. */
function* insertEvent(row: readonly SqlValue[]): Steps<boolean> {
  const { changes } = yield* sql(
    `INSERT INTO events (id, route, event, delivery_id, verdict, reason, run_id, received_at, bytes, delivery_key, body_key, headers, body)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING`,
    ...row,
  );
  return changes > 0;
}

/** Takes the keys from events that have been remembered long enough; a younger holder makes this one a duplicate. */
function* freeOldKeys(event: readonly SqlValue[], receivedAt: number): Steps<AcceptResult | undefined> {
  const { rows } = yield* sql(
    'SELECT id, received_at, body FROM events WHERE delivery_key = $1 OR body_key = $2',
    event[DELIVERY_KEY] ?? null,
    event[BODY_KEY] ?? null,
  );
  const fresh = rows.find((row) => Number(row.received_at) > receivedAt - REMEMBERED_MS);
  if (fresh) return { kind: 'duplicate', sameBody: fresh.body === event[BODY] };
  for (const row of rows)
    yield* sql('UPDATE events SET delivery_key = NULL, body_key = NULL WHERE id = $1', row.id ?? null);
  return undefined;
}

function* addBytes(route: string, bytes: number): Steps<void> {
  yield* sql(
    `INSERT INTO route_counters (route, window_start, window_count, stored_bytes) VALUES ($1, 0, 0, $2)
     ON CONFLICT (route) DO UPDATE SET stored_bytes = route_counters.stored_bytes + $2`,
    route,
    bytes,
  );
}

// Rows cost more than their text; the limit is about disks, not about single bytes.
const ROW_BYTES = 300;
const sizeOf = (event: NewEvent): number => event.body.length + event.headers.length + ROW_BYTES;

function fromRow(row: Row): StoredEvent {
  const verdict = EVENT_VERDICTS.find((known) => known === row.verdict) ?? 'unknown';
  return {
    id: String(row.id),
    route: String(row.route),
    event: String(row.event),
    deliveryId: String(row.delivery_id),
    verdict,
    receivedAt: Number(row.received_at),
    headers: String(row.headers),
    body: String(row.body),
    bytes: Number(row.bytes),
    ...(row.reason === null ? {} : { reason: String(row.reason) }),
    ...(row.run_id === null ? {} : { runId: String(row.run_id) }),
    ...(row.run_state === null ? {} : { runState: String(row.run_state) as RunState }),
  };
}
