import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../core/log.ts';
import { createLifecycle } from './lifecycle.ts';

const part = (name: string, seen: string[]) => () => {
  seen.push(`start ${name}`);
  return { stop: () => void seen.push(`stop ${name}`) };
};

test('parts are started in order and stopped in reverse, once', async () => {
  const seen: string[] = [];
  const lifecycle = createLifecycle(silentLog);
  for (const name of ['a', 'b', 'c']) await lifecycle.start(name, part(name, seen));
  await Promise.all([lifecycle.stop(1000), lifecycle.stop(1000)]);
  assert.deepEqual(seen, ['start a', 'start b', 'start c', 'stop c', 'stop b', 'stop a']);
});

test('a part that fails to start stops those before it, and its error goes on', async () => {
  const seen: string[] = [];
  const lifecycle = createLifecycle(silentLog);
  await lifecycle.start('a', part('a', seen));
  const failing = lifecycle.start('b', () => Promise.reject(new Error('no disk')));
  await assert.rejects(failing, /no disk/);
  assert.deepEqual(seen, ['start a', 'stop a']);
  await assert.rejects(lifecycle.start('c', part('c', seen)), /stopping/);
});

test('a part that throws or hangs while stopping does not keep the others from stopping', async () => {
  const seen: string[] = [];
  const lifecycle = createLifecycle(silentLog);
  await lifecycle.start('a', part('a', seen));
  await lifecycle.start('hangs', () => ({ stop: () => new Promise<void>(() => {}) }));
  await lifecycle.start('throws', () => ({ stop: () => Promise.reject(new Error('stuck')) }));
  await lifecycle.stop(20);
  assert.deepEqual(seen, ['start a', 'stop a']);
});

test('a part learns that the time is over', async () => {
  const lifecycle = createLifecycle(silentLog);
  let told = false;
  await lifecycle.start('slow', () => ({
    stop: (signal) =>
      new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => {
          told = true;
          resolve();
        });
      }),
  }));
  await lifecycle.stop(20);
  assert.equal(told, true);
});
