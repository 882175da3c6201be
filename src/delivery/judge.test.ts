import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpAnswer } from '../system/fetch-json.ts';
import { judge, type Reading, retryAfterMs, secondsAt, textAt } from './judge.ts';

const NOW = Date.parse('2026-11-15T12:00:00Z');
const reading: Reading = {
  receipt: (json) => textAt(json, 'id'),
  error: (json) => ({ words: textAt(json, 'error') }),
};
const answer = (status: number, json: unknown, headers: Record<string, string> = {}): HttpAnswer => ({
  kind: 'answer',
  status,
  json,
  text: '',
  header: (name) => headers[name],
});

test('a wait is read as seconds or as a date, and nonsense is no wait', () => {
  assert.equal(retryAfterMs('120', NOW), 120_000);
  assert.equal(retryAfterMs('0.5', NOW), 500);
  assert.equal(retryAfterMs('Sun, 15 Nov 2026 12:00:30 GMT', NOW), 30_000);
  assert.equal(retryAfterMs('Sun, 15 Nov 2026 11:00:00 GMT', NOW), 0);
  assert.equal(retryAfterMs('soon', NOW), undefined);
  assert.equal(secondsAt({ a: { b: 1.5 } }, 'a.b'), 1500);
  assert.equal(secondsAt({ a: -1 }, 'a'), undefined);
});

test('no platform can make a message wait longer than a day', () => {
  const outcome = judge(answer(429, {}, { 'retry-after': '99999999' }), reading, NOW);
  assert.ok(outcome.kind === 'failed');
  assert.equal(outcome.afterMs, 24 * 60 * 60 * 1000);
});

test('only 408, 425, 429 and server errors are worth another try', () => {
  for (const status of [408, 425, 429, 500, 502, 503, 504]) {
    assert.equal(judge(answer(status, {}), reading, NOW).kind, 'failed', `${status}`);
  }
  for (const status of [400, 401, 403, 404, 409, 410, 413, 422, 301, 302, 307, 308]) {
    assert.equal(judge(answer(status, {}), reading, NOW).kind, 'refused', `${status}`);
  }
});

test('a success that names no message, or is no JSON, is none', () => {
  assert.deepEqual(judge(answer(200, { id: 7 }), reading, NOW), { kind: 'sent', receipt: '7' });
  assert.equal(judge(answer(200, { ok: false, error: 'nope' }), reading, NOW).kind, 'refused');
  const html = judge(answer(200, undefined), reading, NOW);
  assert.ok(html.kind === 'failed');
  assert.match(html.reason, /not JSON/);
});

test('the words of a platform are cut and on one line', () => {
  const outcome = judge(answer(400, { error: `a\n\nb${'x'.repeat(5000)}` }), reading, NOW);
  assert.ok(outcome.kind === 'refused');
  assert.ok(outcome.reason.length < 400 && !outcome.reason.includes('\n'));
});

test('a value is found only among own keys', () => {
  assert.equal(textAt({ a: [{ b: 'x' }] }, 'a.0.b'), 'x');
  assert.equal(textAt({}, 'constructor.name'), undefined);
  assert.equal(textAt(null, 'a'), undefined);
  assert.equal(textAt({ a: {} }, 'a'), undefined);
});

test('an answer that is no success never reads like one', () => {
  const outcome = judge(answer(200, { other: 'thing' }), reading, NOW);
  assert.ok(outcome.kind === 'refused');
  assert.match(outcome.reason, /answered 200, but not that it took the message/);
});
