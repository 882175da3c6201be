import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { newRun } from '../../test/support/new-run.ts';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { until } from '../../test/support/until.ts';
import { silentLog } from '../core/log.ts';
import { openStore } from '../store/open.ts';
import { cancelRun, enqueueRun, runCounts } from '../store/runs.ts';
import { realClock } from '../system/clock.ts';
import { startRetention } from './retention.ts';

test('runs that ended before the time to keep are removed, however many there are', async () => {
  const store = await openStore({ file: join(tempFolder(), 'svc.db') }, { mode: 'inline' });
  const keepMs = 1000;
  const endedLongAgo = realClock.now() - 2 * keepMs;
  for (let n = 0; n < 450; n += 1) {
    const run = newRun();
    await store.write(enqueueRun(run));
    await store.write(cancelRun({ id: run.id, at: n === 0 ? realClock.now() + 60_000 : endedLongAgo }));
  }
  await store.write(enqueueRun(newRun()));
  const retention = startRetention({ store, clock: realClock, log: silentLog, keepMs });
  await until(async () => (await store.read(runCounts({}))).failed === 1);
  assert.equal((await store.read(runCounts({}))).queued, 1);
  await retention.stop();
  await store.close();
});
