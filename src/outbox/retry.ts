// What becomes of a message after an attempt. Pure: the outcome goes in, the new state of the row comes out.

import type { DeliveryOutcome } from '../delivery/deliver.ts';
import type { Delivery } from '../store/deliveries.ts';
import type { EndedAttempt } from '../store/outbox.ts';

/** The waits between attempts; after the last one the message is dead. */
export const RETRY_WAITS_MS: readonly number[] = [5_000, 30_000, 120_000, 600_000, 3_600_000];

export function afterAttempt(delivery: Delivery, outcome: DeliveryOutcome, now: number): EndedAttempt {
  const { id, fence, uncertain } = delivery;
  if (outcome.kind === 'delivered') {
    const { receipt, note } = outcome;
    return {
      id,
      fence,
      state: 'delivered',
      attempts: delivery.attempts + 1,
      partsSent: delivery.partsSent,
      uncertain,
      ...(receipt === undefined ? {} : { receipt }),
      ...(note === undefined ? {} : { note }),
      at: now,
    };
  }
  const attempts = delivery.attempts + 1;
  const common = {
    id,
    fence,
    attempts,
    partsSent: outcome.partsSent,
    uncertain: uncertain || outcome.kind === 'unknown',
    lastError: outcome.reason,
    at: now,
  };
  const wait = RETRY_WAITS_MS[delivery.attempts];
  if (outcome.kind === 'refused' || wait === undefined) return { ...common, state: 'dead' };
  // The platform may ask for more patience than the schedule has, never for less.
  const asked = outcome.kind === 'failed' ? (outcome.afterMs ?? 0) : 0;
  return { ...common, state: 'waiting', nextAttemptAt: now + Math.max(wait, asked) };
}

/** The gateway stopped in the middle: the attempt counts for nothing, but it may have arrived. */
export function afterInterruption(delivery: Delivery, outcome: DeliveryOutcome, now: number): EndedAttempt {
  if (outcome.kind === 'delivered' || outcome.kind === 'refused') return afterAttempt(delivery, outcome, now);
  return {
    ...afterAttempt(delivery, outcome, now),
    state: 'waiting',
    attempts: delivery.attempts,
    nextAttemptAt: now,
  };
}
