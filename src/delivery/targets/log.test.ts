import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LogFields, type Logger, silentLog } from '../../core/log.ts';
import { attempt, openBench, testTarget } from '../target.contract.ts';
import { log } from './log.ts';

testTarget(log, { target: 'log' });

test('log writes the whole text as one line, also when it is long or empty', async () => {
  const lines: LogFields[] = [];
  const keeping: Logger = { ...silentLog, info: (_message, fields) => void lines.push(fields ?? {}) };
  await using bench = await openBench({}, { log: keeping });
  const long = 'line\n'.repeat(100_000);
  for (const text of [long, '']) {
    assert.deepEqual(await attempt(bench.delivery, { address: { target: 'log' }, text }), { kind: 'delivered' });
  }
  assert.deepEqual(
    lines.map((line) => line.text),
    [long, ''],
  );
  assert.equal(lines[0]?.source, 'nightly');
});

test('log and local do not mind a chat id that a route still has', async () => {
  await using bench = await openBench({ teams: { enabled: true, token: 'https://example.org/x' } });
  for (const target of ['log', 'local']) {
    assert.equal((await attempt(bench.delivery, { address: { target, chatId: '5' }, text: 'hi' })).kind, 'delivered');
  }
  assert.match(bench.delivery.problem({ target: 'teams', chatId: '5' }) ?? '', /takes no chat id/);
});
