import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LogFields, silentLog } from '../core/log.ts';
import { createRefusals } from './refusals.ts';

function recorder() {
  const lines: { level: string; message: string; fields: LogFields | undefined }[] = [];
  const log = {
    ...silentLog,
    warn: (message: string, fields?: LogFields) => void lines.push({ level: 'warn', message, fields }),
    error: (message: string, fields?: LogFields) => void lines.push({ level: 'error', message, fields }),
  };
  const sleepers: (() => void)[] = [];
  const clock = { sleep: () => new Promise<void>((resolve) => sleepers.push(resolve)) };
  const pass = async (): Promise<void> => {
    for (const wake of sleepers.splice(0)) wake();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { lines, refusals: createRefusals(log, clock), pass };
}

test('a flood of bad signatures makes one warning per route and second, with a count', async () => {
  const { lines, refusals, pass } = recorder();
  for (let count = 0; count < 10; count++) refusals.refused('a', 'wrong');
  refusals.refused('b', 'wrong');
  assert.deepEqual(
    lines.map(({ message, fields }) => [message, fields?.route, fields?.count]),
    [
      ['Invalid signature', 'a', 1],
      ['Invalid signature', 'b', 1],
    ],
  );
  await pass();
  assert.deepEqual(lines.at(-1)?.fields, { route: 'a', reason: 'wrong', count: 9 });
  await pass();
  assert.equal(lines.length, 3);
});

test('twenty in a row raise an alarm, once; a genuine request ends the row', () => {
  const { lines, refusals } = recorder();
  const alarms = () => lines.filter((line) => line.level === 'error').length;
  for (let count = 0; count < 19; count++) refusals.refused('a', 'wrong');
  refusals.genuine('a');
  for (let count = 0; count < 19; count++) refusals.refused('a', 'wrong');
  assert.equal(alarms(), 0);
  for (let count = 0; count < 100; count++) refusals.refused('a', 'wrong');
  assert.equal(alarms(), 1);
});
