import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Delivery } from '../store/deliveries.ts';
import { afterAttempt, afterInterruption, RETRY_WAITS_MS } from './retry.ts';

const NOW = 1_000_000;
const delivery = (changes: Partial<Delivery> = {}): Delivery => ({
  id: 'dlv_1',
  source: 'nightly',
  address: { target: 'telegram', chatId: '1' },
  text: 'hi',
  createdAt: 0,
  state: 'sending',
  attempts: 0,
  partsSent: 0,
  nextAttemptAt: 0,
  fence: 3,
  uncertain: false,
  ...changes,
});
const failed = { kind: 'failed', reason: 'busy', partsSent: 1 } as const;

test('failures are tried again after 5 s, 30 s, 2 min, 10 min and 1 h, then the message is dead', () => {
  const waits = [5_000, 30_000, 120_000, 600_000, 3_600_000];
  assert.deepEqual(RETRY_WAITS_MS, waits);
  for (const [attempts, wait] of waits.entries()) {
    const ended = afterAttempt(delivery({ attempts }), failed, NOW);
    assert.deepEqual([ended.state, ended.attempts, ended.nextAttemptAt], ['waiting', attempts + 1, NOW + wait]);
  }
  assert.equal(afterAttempt(delivery({ attempts: waits.length }), failed, NOW).state, 'dead');
});

test('a platform may ask for a longer wait, not for a shorter one', () => {
  const asking = (afterMs: number) => afterAttempt(delivery(), { ...failed, afterMs }, NOW).nextAttemptAt;
  assert.equal(asking(90_000), NOW + 90_000);
  assert.equal(asking(10), NOW + 5_000);
});

test('a refusal is final and keeps its reason and what was sent', () => {
  const ended = afterAttempt(delivery(), { kind: 'refused', reason: 'no such chat', partsSent: 2 }, NOW);
  assert.deepEqual(
    [ended.state, ended.lastError, ended.partsSent, ended.uncertain],
    ['dead', 'no such chat', 2, false],
  );
});

test('an attempt without an answer is tried again and stays marked as uncertain, also when it succeeds', () => {
  const ended = afterAttempt(delivery(), { kind: 'unknown', reason: 'timeout', partsSent: 0 }, NOW);
  assert.deepEqual([ended.state, ended.uncertain], ['waiting', true]);
  assert.equal(afterAttempt(delivery({ uncertain: true }), { kind: 'delivered' }, NOW).uncertain, true);
});

test('an attempt that a stop interrupted costs nothing', () => {
  const ended = afterInterruption(delivery({ attempts: 4 }), { kind: 'unknown', reason: 'stopped', partsSent: 1 }, NOW);
  assert.deepEqual([ended.state, ended.attempts, ended.nextAttemptAt, ended.uncertain], ['waiting', 4, NOW, true]);
  assert.equal(afterInterruption(delivery(), { kind: 'delivered' }, NOW).state, 'delivered');
});
