// What the sender does with messages: take those whose turn it is, keep them, record how it went. A claim is a lease with
// a fencing number: whoever lost the lease can no longer write. What a person does with a message is here too.

import { type Delivery, type DeliveryState, deliveryOf } from './deliveries.ts';
import { defineOperation, lock, type Row, type SqlValue, type Steps, sql } from './operation.ts';
import { reopenRun, settleRun } from './runs.ts';

export interface ClaimDeliveries {
  owner: string;
  now: number;
  leaseMs: number;
  limit: number;
  /** Targets that are left alone for now. */
  resting: string[];
  /** Targets of which one message is taken at most. */
  probed: string[];
}

/**
 * Takes messages that are due, at most one per chat and only the oldest of it: an earlier message that waits for its next
 * attempt holds up the later ones. A message whose sender died is taken over and marked uncertain.
 */
export const claimDeliveries = defineOperation(
  'deliveries.claim',
  function* ({ owner, now, leaseMs, limit, resting, probed }: ClaimDeliveries): Steps<Delivery[]> {
    // Two processes that pick at once would pick the same rows, or two messages of one chat.
    yield* lock('deliveries.claim');
    const ids = pick(yield* claimable(now, limit, resting), limit, probed);
    if (ids.length === 0) return [];
    const { rows } = yield* sql(
      `UPDATE deliveries SET uncertain = CASE WHEN state = 'sending' THEN 1 ELSE uncertain END,
                             state = 'sending', owner = $1, lease_until = $2, fence = fence + 1
       WHERE id IN (${places(ids.length, 3)}) RETURNING *`,
      owner,
      now + leaseMs,
      ...ids,
    );
    return rows.map(deliveryOf).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  },
);

/** When the next message is due or a lease runs out; undefined when nothing is open. Reads only. */
export const nextDue = defineOperation('deliveries.next_due', function* (_: Record<never, never>): Steps<
  number | undefined
> {
  const waiting = yield* sql("SELECT MIN(next_attempt_at) AS due FROM deliveries WHERE state = 'waiting'");
  const leased = yield* sql("SELECT MIN(lease_until) AS due FROM deliveries WHERE state = 'sending'");
  const times = [...waiting.rows, ...leased.rows].flatMap((row) => (row.due === null ? [] : [Number(row.due)]));
  return times.length > 0 ? Math.min(...times) : undefined;
});

/** Part of a long text has arrived. False when the lease is lost. */
export const recordPart = defineOperation(
  'deliveries.part',
  function* (input: { id: string; fence: number; partsSent: number; leaseUntil: number }): Steps<boolean> {
    const { changes } = yield* sql(
      `UPDATE deliveries SET parts_sent = $3, lease_until = $4 WHERE id = $1 AND fence = $2 AND state = 'sending'`,
      input.id,
      input.fence,
      input.partsSent,
      input.leaseUntil,
    );
    return changes > 0;
  },
);

/** Keeps the leases of all messages that this process has on their way. */
export const renewDeliveries = defineOperation(
  'deliveries.renew',
  function* (input: { held: { id: string; fence: number }[]; leaseUntil: number }): Steps<void> {
    for (const { id, fence } of input.held) {
      yield* sql(
        `UPDATE deliveries SET lease_until = $3 WHERE id = $1 AND fence = $2 AND state = 'sending'`,
        id,
        fence,
        input.leaseUntil,
      );
    }
  },
);

export interface EndedAttempt {
  id: string;
  fence: number;
  /** `waiting` means another attempt at `nextAttemptAt`. */
  state: 'delivered' | 'dead' | 'waiting';
  attempts: number;
  partsSent: number;
  uncertain: boolean;
  nextAttemptAt?: number;
  receipt?: string;
  note?: string;
  lastError?: string;
  at: number;
}

/** Records how an attempt ended, and ends the run when this was its last message. False when the lease is lost. */
export const endAttempt = defineOperation('deliveries.end_attempt', function* (input: EndedAttempt): Steps<boolean> {
  const final = input.state !== 'waiting';
  const { rows } = yield* sql(
    `UPDATE deliveries SET state = $3, attempts = $4, parts_sent = $5, uncertain = $6,
                           next_attempt_at = COALESCE($7, next_attempt_at), receipt = $8, note = $9, last_error = $10,
                           ended_at = $11, owner = NULL, lease_until = NULL
     WHERE id = $1 AND fence = $2 AND state = 'sending' RETURNING run_id`,
    input.id,
    input.fence,
    input.state,
    input.attempts,
    input.partsSent,
    input.uncertain ? 1 : 0,
    input.nextAttemptAt ?? null,
    input.receipt ?? null,
    input.note ?? null,
    input.lastError ?? null,
    final ? input.at : null,
  );
  const [row] = rows;
  if (!row) return false;
  if (final && row.run_id !== null) yield* settleRun(String(row.run_id), input.at);
  return true;
});

/** Both in one transaction: the next message of a chat follows its predecessor after one commit, not two. */
export const endAttemptAndClaim = defineOperation(
  'deliveries.end_attempt_and_claim',
  function* ({ ended, claim }: { ended: EndedAttempt; claim: ClaimDeliveries }): Steps<{
    kept: boolean;
    deliveries: Delivery[];
  }> {
    const kept = yield* endAttempt.body(ended);
    return { kept, deliveries: yield* claimDeliveries.body(claim) };
  },
);

export type PersonResult = { kind: 'done' } | { kind: 'wrong_state'; state: DeliveryState } | { kind: 'not_found' };

/** A person wants the message sent now, whatever happened to it before. */
export const retryDelivery = defineOperation(
  'deliveries.retry',
  function* ({ id, at }: { id: string; at: number }): Steps<PersonResult> {
    const { rows } = yield* sql(
      `UPDATE deliveries SET state = 'waiting', attempts = 0, next_attempt_at = $2, ended_at = NULL
       WHERE id = $1 AND state IN ('dead', 'dropped', 'waiting') RETURNING run_id`,
      id,
      at,
    );
    if (!rows[0]) return yield* stateOf(id);
    if (rows[0].run_id !== null) yield* reopenRun(String(rows[0].run_id));
    return { kind: 'done' };
  },
);

/** A person gives the message up. */
export const dropDelivery = defineOperation(
  'deliveries.drop',
  function* ({ id, at }: { id: string; at: number }): Steps<PersonResult> {
    const { rows } = yield* sql(
      `UPDATE deliveries SET state = 'dropped', ended_at = $2 WHERE id = $1 AND state IN ('dead', 'waiting') RETURNING run_id`,
      id,
      at,
    );
    if (!rows[0]) return yield* stateOf(id);
    if (rows[0].run_id !== null) yield* settleRun(String(rows[0].run_id), at);
    return { kind: 'done' };
  },
);

/** Removes ended messages that belong to no run; those of a run go with it. */
export const pruneDeliveries = defineOperation(
  'deliveries.prune',
  function* ({ before }: { before: number }): Steps<number> {
    const { changes } = yield* sql(
      `DELETE FROM deliveries WHERE run_id IS NULL AND ended_at < $1 AND state IN ('delivered', 'dead', 'dropped')`,
      before,
    );
    return changes;
  },
);

/** Due messages looked at before walking over the chats. */
const MAX_LOOKED_AT = 64;

/** Messages that may be taken, those first that are due the longest. */
function* claimable(now: number, limit: number, resting: readonly string[]): Steps<Row[]> {
  const excluded = resting.length === 0 ? '' : `AND d.target NOT IN (${places(resting.length, 3)})`;
  const orphans = yield* sql(
    `SELECT d.id, d.target FROM deliveries d WHERE d.state = 'sending' AND d.lease_until < $1 ${excluded}
     ORDER BY d.lease_until, d.id LIMIT $2`,
    now,
    limit,
    ...resting,
  );
  const waiting = yield* sql(
    `SELECT w.id, w.target, CASE WHEN w.order_key IS NULL OR NOT EXISTS
              (SELECT 1 FROM deliveries e
               WHERE e.order_key = w.order_key AND e.id < w.id AND e.state IN ('waiting', 'sending'))
            THEN 1 ELSE 0 END AS its_turn
     FROM (SELECT d.id, d.target, d.order_key FROM deliveries d
           WHERE d.state = 'waiting' AND d.next_attempt_at <= $1 ${excluded}
           ORDER BY d.next_attempt_at, d.id LIMIT $2) w`,
    now,
    MAX_LOOKED_AT,
    ...resting,
  );
  const found = [...orphans.rows, ...waiting.rows.filter((row) => row.its_turn === 1)];
  if (found.length >= limit || waiting.rows.length < MAX_LOOKED_AT) return found;
  return [...orphans.rows, ...(yield* headsOfChats(now, limit, excluded, resting))];
}

/** The same for deep queues: walks from chat to chat along the index, however many messages wait in each. */
function* headsOfChats(now: number, limit: number, excluded: string, resting: readonly string[]): Steps<Row[]> {
  const due = `d.state = 'waiting' AND d.next_attempt_at <= $1 ${excluded} ORDER BY d.next_attempt_at, d.id LIMIT $2`;
  const heads = yield* sql(
    `WITH RECURSIVE chats (order_key) AS (
       SELECT MIN(order_key) FROM deliveries WHERE state IN ('waiting', 'sending')
       UNION ALL
       SELECT (SELECT MIN(n.order_key) FROM deliveries n
               WHERE n.state IN ('waiting', 'sending') AND n.order_key > chats.order_key)
       FROM chats WHERE chats.order_key IS NOT NULL
     )
     SELECT d.id, d.target FROM chats JOIN deliveries d ON d.id =
       (SELECT MIN(h.id) FROM deliveries h WHERE h.state IN ('waiting', 'sending') AND h.order_key = chats.order_key)
     WHERE ${due}`,
    now,
    limit,
    ...resting,
  );
  const loose = yield* sql(
    `SELECT d.id, d.target FROM deliveries d WHERE d.order_key IS NULL AND ${due}`,
    now,
    limit,
    ...resting,
  );
  return [...heads.rows, ...loose.rows];
}

function pick(rows: readonly Row[], limit: number, probed: readonly string[]): string[] {
  const tried = new Set<string>();
  const picked = rows.filter(({ target }) => {
    const name = String(target);
    const first = !tried.has(name);
    tried.add(name);
    return first || !probed.includes(name);
  });
  return picked.slice(0, limit).map((row) => String(row.id));
}

function* stateOf(id: string): Steps<PersonResult> {
  const { rows } = yield* sql('SELECT state FROM deliveries WHERE id = $1', id);
  return rows[0] ? { kind: 'wrong_state', state: rows[0].state as DeliveryState } : { kind: 'not_found' };
}

/** `$3, $4, ...` */
const places = (count: number, first: number): string =>
  Array.from({ length: count }, (_: SqlValue, index) => `$${first + index}`).join(', ');
