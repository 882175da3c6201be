// A platform that is down is left alone for a while instead of using up the attempts of every message for it.
// Pure: per target, how many attempts in a row failed and until when it rests.

import type { DeliveryOutcome } from '../delivery/deliver.ts';

export interface Breaker {
  /** In a row, since the last answer. */
  failures: number;
  rests: number;
  /** Nothing is sent before this instant. */
  restsUntil: number;
  /** After a rest one message tries the way; the others wait for its outcome. */
  probing: boolean;
}

const FAILURES_TO_OPEN = 5;
const FIRST_REST_MS = 15_000;
const LONGEST_REST_MS = 300_000;

export const closedBreaker: Breaker = { failures: 0, rests: 0, restsUntil: 0, probing: false };

/** A refusal is an answer: the platform works, only this message does not. */
export function afterOutcome(breaker: Breaker, kind: DeliveryOutcome['kind'], now: number): Breaker {
  if (kind === 'delivered' || kind === 'refused') return closedBreaker;
  // Attempts that started before the rest come in late; they must not prolong it.
  if (now < breaker.restsUntil) return breaker;
  const failures = breaker.failures + 1;
  if (failures < FAILURES_TO_OPEN) return { ...breaker, failures };
  const restMs = Math.min(FIRST_REST_MS * 2 ** breaker.rests, LONGEST_REST_MS);
  return { failures, rests: breaker.rests + 1, restsUntil: now + restMs, probing: false };
}

export type Admission = 'all' | 'one' | 'none';

export function admission(breaker: Breaker, now: number): Admission {
  if (breaker.failures < FAILURES_TO_OPEN) return 'all';
  return now < breaker.restsUntil || breaker.probing ? 'none' : 'one';
}
