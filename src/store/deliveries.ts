// The outbox table: one row per message and address. States: waiting, sending, then delivered, dead or dropped.

import type { Address } from '../core/address.ts';
import { canonicalTarget } from '../core/names.ts';
import { type Steps, sql } from './operation.ts';

export interface NewDelivery {
  id: string;
  runId?: string;
  /** Names the route, job or command the message comes from. */
  source: string;
  address: Address;
  text: string;
  createdAt: number;
}

/** Part of a larger transaction: the message exists if and only if what it reports does. */
export function* insertDelivery(delivery: NewDelivery): Steps<void> {
  const { address } = delivery;
  const orderKey = [canonicalTarget(address.target), address.chatId ?? '', address.threadId ?? ''].join(':');
  yield* sql(
    `INSERT INTO deliveries (id, run_id, source, address, order_key, text, state, next_attempt_at, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, 'waiting', $7, $7)`,
    delivery.id,
    delivery.runId ?? null,
    delivery.source,
    JSON.stringify(address),
    orderKey,
    delivery.text,
    delivery.createdAt,
  );
}
