import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createNewId, newId, realClock } from './clock.ts';

test('ids sort in the order they were made, also within a millisecond and when the clock steps back', () => {
  const times = [1000, 1000, 1001, 900, 1002];
  const next = createNewId({ now: () => times.shift() ?? 2000 });
  const made = Array.from({ length: 70_000 }, () => next('run'));
  assert.deepEqual(made, [...made].sort());
  assert.equal(new Set(made).size, made.length);
});

test('an id carries its prefix and only lower-case letters and digits', () => {
  assert.match(newId('run'), /^run_[0-9a-z]{20}$/);
});

test('two makers in the same millisecond do not make the same id', () => {
  const clock = { now: () => 1000 };
  const ids = Array.from({ length: 1000 }, () => createNewId(clock)('x'));
  assert.equal(new Set(ids).size, 1000);
});

test('sleep ends at once when its signal aborts, before or during it', async () => {
  const controller = new AbortController();
  const sleeping = realClock.sleep(3_600_000, controller.signal);
  controller.abort();
  await sleeping;
  await realClock.sleep(3_600_000, controller.signal);
});

test('a sleep longer than a timer can hold does not end at once', async () => {
  const controller = new AbortController();
  let ended = false;
  const sleeping = realClock.sleep(2 ** 40, controller.signal).then(() => {
    ended = true;
  });
  await realClock.sleep(20);
  assert.equal(ended, false);
  controller.abort();
  await sleeping;
});
