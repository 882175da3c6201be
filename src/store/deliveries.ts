// The outbox table: one row per message and address. States: waiting, sending, then delivered, dead or dropped.
// What the sender does with the rows it holds is in outbox.ts.

import type { Address } from '../core/address.ts';
import { canonicalTarget } from '../core/names.ts';
import { defineOperation, type Row, type Steps, sql } from './operation.ts';
import { selectPage } from './page.ts';

export const DELIVERY_STATES = ['waiting', 'sending', 'delivered', 'dead', 'dropped'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export interface NewDelivery {
  id: string;
  runId?: string;
  /** Names the route, job or command the message comes from. */
  source: string;
  address: Address;
  text: string;
  createdAt: number;
}

export interface Delivery extends NewDelivery {
  state: DeliveryState;
  /** Attempts that ended without success; one that a crash cut short is not counted. */
  attempts: number;
  /** How many parts of a long text have arrived. */
  partsSent: number;
  nextAttemptAt: number;
  /** Fencing number: grows with every claim; a write with an older number is refused. */
  fence: number;
  receipt?: string;
  note?: string;
  lastError?: string;
  /** True when an attempt may have arrived although nobody said so. */
  uncertain: boolean;
  endedAt?: number;
}

/** Targets without chats: their messages need not wait for one another. */
const UNORDERED = new Set(['log', 'local']);

/** Part of a larger transaction: the message exists if and only if what it reports does. */
export function* insertDelivery(delivery: NewDelivery): Steps<void> {
  const target = canonicalTarget(delivery.address.target);
  yield* sql(
    `INSERT INTO deliveries (id, run_id, source, target, address, order_key, text, state, next_attempt_at, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, 'waiting', $8, $8)`,
    delivery.id,
    delivery.runId ?? null,
    delivery.source,
    target,
    JSON.stringify(delivery.address),
    UNORDERED.has(target) ? null : orderKey(target, delivery.address),
    delivery.text,
    delivery.createdAt,
  );
}

/** A message that reports no run. */
export const enqueueDelivery = defineOperation('deliveries.enqueue', function* (delivery: NewDelivery): Steps<void> {
  yield* insertDelivery(delivery);
});

export const getDelivery = defineOperation('deliveries.get', function* ({ id }: { id: string }): Steps<
  Delivery | undefined
> {
  const { rows } = yield* sql('SELECT * FROM deliveries WHERE id = $1', id);
  return rows[0] && deliveryOf(rows[0]);
});

export interface DeliveryFilter {
  state?: DeliveryState;
  /** Canonical name. */
  target?: string;
  runId?: string;
  limit: number;
  /** The `next` of the page before. */
  cursor?: string;
}

/** What a listing shows of a message: everything but its text. */
export type DeliverySummary = Omit<Delivery, 'text'>;

/** Newest first. `next` is there when more may follow. */
export const listDeliveries = defineOperation('deliveries.list', function* (filter: DeliveryFilter): Steps<{
  deliveries: DeliverySummary[];
  next?: string;
}> {
  const { rows, ...page } = yield* selectPage({
    columns: `id, run_id, source, address, state, attempts, parts_sent, next_attempt_at, fence, receipt, note, last_error,
              uncertain, created_at, ended_at`,
    table: 'deliveries',
    where: [
      ['state =', filter.state],
      ['target =', filter.target],
      ['run_id =', filter.runId],
    ],
    limit: filter.limit,
    cursor: filter.cursor,
  });
  return { deliveries: rows.map(summaryOf), ...page };
});

export const deliveryCounts = defineOperation('deliveries.counts', function* (_: Record<never, never>): Steps<
  Partial<Record<DeliveryState, number>>
> {
  const { rows } = yield* sql('SELECT state, COUNT(*) AS messages FROM deliveries GROUP BY state');
  return Object.fromEntries(rows.map((row) => [row.state, Number(row.messages)]));
});

export const deliveryOf = (row: Row): Delivery => ({ ...summaryOf(row), text: String(row.text) });

function summaryOf(row: Row): DeliverySummary {
  const text = (key: string, column: string) => (row[column] === null ? {} : { [key]: String(row[column]) });
  return {
    id: String(row.id),
    ...text('runId', 'run_id'),
    source: String(row.source),
    address: JSON.parse(String(row.address)) as Address,
    createdAt: Number(row.created_at),
    state: row.state as DeliveryState,
    attempts: Number(row.attempts),
    partsSent: Number(row.parts_sent),
    nextAttemptAt: Number(row.next_attempt_at),
    fence: Number(row.fence),
    ...text('receipt', 'receipt'),
    ...text('note', 'note'),
    ...text('lastError', 'last_error'),
    uncertain: row.uncertain === 1,
    ...(row.ended_at === null ? {} : { endedAt: Number(row.ended_at) }),
  };
}

/** Messages to the same place keep their order; a comment's place is in its extra keys. */
function orderKey(target: string, address: Address): string {
  const extra = Object.entries(address.extra ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([target, address.chatId ?? '', address.threadId ?? '', ...extra.flat()]);
}
