import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openStore } from '../../src/store/open.ts';
import { enqueueRun, listRuns, runCounts } from '../../src/store/runs.ts';
import { newId } from '../../src/system/clock.ts';
import { newRun } from '../support/new-run.ts';
import { freshDatabase, withoutPostgres } from '../support/postgres.ts';
import { createSvcHome } from '../support/svc.ts';
import { until } from '../support/until.ts';

const RUNS = 40;

const homes = [createSvcHome(), createSvcHome()];
after(() => Promise.all(homes.map((home) => home.remove())));

test('two gateways that share one PostgreSQL carry out every run and send every message exactly once', {
  skip: withoutPostgres,
}, async (t) => {
  const url = await freshDatabase();
  const env = { SVC_DATABASE_URL: url };
  const gateways = await Promise.all(homes.map((home) => home.startGateway({ env })));
  const store = await openStore({ url }, { mode: 'inline' });
  const runs = Array.from({ length: RUNS }, (_, index) =>
    newRun({
      id: newId('run'),
      createdAt: Date.now(),
      addresses: [{ target: 'log' }],
      ...(index % 2 === 0 && { limit: { key: 'pair', max: 2 } }),
      ...(index % 5 === 0 && { serialKey: 'line' }),
    }),
  );
  await Promise.all(runs.map((run) => store.write(enqueueRun(run))));
  await until(async () => (await store.read(runCounts({}))).delivered === RUNS);

  const { runs: ended } = await store.read(listRuns({ limit: RUNS }));
  for (const run of ended) assert.equal(run.attempt, 1);
  const started = gateways.map((gateway) => gateway.output().split('The run starts').length - 1);
  const delivered = gateways.map((gateway) => gateway.output().split('"message":"Delivered"').length - 1);
  const sum = (counts: number[]): number => counts.reduce((all, count) => all + count, 0);
  t.diagnostic(`runs ${started.join(' + ')}, messages ${delivered.join(' + ')}`);
  assert.equal(sum(started), RUNS);
  assert.equal(sum(delivered), RUNS);
  assert.deepEqual(await Promise.all(gateways.map((gateway) => gateway.end())), [0, 0]);
  await store.close();
});
