import assert from 'node:assert/strict';
import { test } from 'node:test';
import { admission, afterOutcome, type Breaker, closedBreaker } from './breaker.ts';

const failing = (times: number, now: number, from: Breaker = closedBreaker): Breaker =>
  Array.from({ length: times }).reduce<Breaker>((breaker) => afterOutcome(breaker, 'failed', now), from);

test('five failures in a row give the platform a rest of 15 s', () => {
  assert.equal(admission(failing(4, 0), 0), 'all');
  const open = failing(5, 0);
  assert.equal(admission(open, 14_999), 'none');
  assert.equal(admission(open, 15_000), 'one');
});

test('failures that come in during the rest do not prolong it', () => {
  const open = failing(5, 0);
  assert.deepEqual(failing(10, 5000, open), open);
});

test('each failed trial doubles the rest, up to five minutes', () => {
  let breaker = failing(5, 0);
  const rests: number[] = [];
  for (let trial = 0; trial < 6; trial += 1) {
    const now = breaker.restsUntil;
    breaker = afterOutcome({ ...breaker, probing: true }, 'unknown', now);
    rests.push(breaker.restsUntil - now);
  }
  assert.deepEqual(rests, [30_000, 60_000, 120_000, 240_000, 300_000, 300_000]);
});

test('while one message tries the way the others wait, and any answer opens it', () => {
  const open = failing(5, 0);
  assert.equal(admission({ ...open, probing: true }, 20_000), 'none');
  assert.equal(afterOutcome({ ...open, probing: true }, 'delivered', 20_000), closedBreaker);
  assert.equal(afterOutcome({ ...open, probing: true }, 'refused', 20_000), closedBreaker);
});
