import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SvcError } from '../core/errors.ts';
import { clockOverrides, clockSentence, clocksFor } from './timeouts.ts';

test('remote servers get 120, 180 and 1800 s; local ones 1800 s, no stale clock and 1800 s', () => {
  assert.deepEqual(clocksFor(false, {}), { read: 120_000, stale: 180_000, call: 1_800_000 });
  assert.deepEqual(clocksFor(true, {}), { read: 1_800_000, stale: undefined, call: 1_800_000 });
});

test('an override that equals the default is still an override', () => {
  const overrides = clockOverrides({ SVC_STREAM_READ_TIMEOUT: '120', SVC_STREAM_STALE_TIMEOUT: '180' });
  assert.deepEqual(clocksFor(true, overrides), { read: 120_000, stale: 180_000, call: 1_800_000 });
});

test('zero switches a clock off, an empty variable is not set, fractions of a second count', () => {
  const overrides = clockOverrides({
    SVC_STREAM_READ_TIMEOUT: '0',
    SVC_STREAM_STALE_TIMEOUT: '  ',
    SVC_API_TIMEOUT: '0.25',
  });
  assert.deepEqual(clocksFor(false, overrides), { read: undefined, stale: 180_000, call: 250 });
});

test('a number too large for a timer means the longest timer, not none', () => {
  assert.equal(clockOverrides({ SVC_API_TIMEOUT: '99999999999' }).call, 2 ** 31 - 1);
});

for (const value of ['-1', 'abc', 'NaN', 'Infinity', '10s', '1,5', '0x10', '1e999']) {
  test(`"${value}" is an error at start that names the variable`, () => {
    assert.throws(
      () => clockOverrides({ SVC_STREAM_READ_TIMEOUT: value, SVC_API_TIMEOUT: value }),
      (error) =>
        error instanceof SvcError &&
        error.code === 'config_invalid' &&
        error.message.includes('SVC_STREAM_READ_TIMEOUT') &&
        error.message.includes('SVC_API_TIMEOUT'),
    );
  });
}

test('the sentence names the clock and the variable that raises it', () => {
  const { reason, help } = clockSentence('stale', 180_000);
  assert.match(reason, /stale stream timeout/);
  assert.match(reason, /180 s/);
  assert.match(help, /SVC_STREAM_STALE_TIMEOUT/);
});
