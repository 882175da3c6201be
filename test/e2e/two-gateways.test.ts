import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { openStore } from '../../src/store/open.ts';
import { enqueueRun, listRuns, runCounts } from '../../src/store/runs.ts';
import type { Store } from '../../src/store/store.ts';
import { newId } from '../../src/system/clock.ts';
import { newRun } from '../support/new-run.ts';
import { freshDatabase, withoutPostgres } from '../support/postgres.ts';
import { createSvcHome, type RunningGateway, type SvcHome } from '../support/svc.ts';
import { until } from '../support/until.ts';

const RUNS = 40;

const homes: SvcHome[] = [];
after(() => Promise.all(homes.map((home) => home.remove())));

/** Two gateways on two machines would look like this: homes of their own, one database. */
async function startTwo(config: string): Promise<{ gateways: RunningGateway[]; store: Store }> {
  const url = await freshDatabase();
  const start = (): Promise<RunningGateway> => {
    const home = createSvcHome();
    homes.push(home);
    home.configure(config);
    return home.startGateway({ env: { SVC_DATABASE_URL: url } });
  };
  const gateways = await Promise.all([start(), start()]);
  return { gateways, store: await openStore({ url }, { mode: 'inline' }) };
}

const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);

describe('two gateways that share one PostgreSQL', { skip: withoutPostgres }, () => {
  test('carry out every run and send every message exactly once', async (t) => {
    const { gateways, store } = await startTwo('');
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
    t.diagnostic(`runs ${started.join(' + ')}, messages ${delivered.join(' + ')}`);
    assert.equal(sum(started), RUNS);
    assert.equal(sum(delivered), RUNS);
    assert.deepEqual(await Promise.all(gateways.map((gateway) => gateway.end())), [0, 0]);
    await store.close();
  });

  test('take an event once when it reaches both at the same time, and count one rate limit together', async () => {
    const route = '{ secret: INSECURE_NO_AUTH, prompt: "Event {n}" }';
    const { gateways, store } = await startTwo(
      `platforms: { webhook: { enabled: true, extra: { host: 127.0.0.1, rate_limit: 5, routes: { push: ${route} } } } }`,
    );
    const post = async (index: number, delivery: string): Promise<number | string> => {
      const headers = { 'content-type': 'application/json', 'x-request-id': delivery };
      const url = `${gateways[index % 2]?.url}/webhooks/push`;
      const response = await fetch(url, { method: 'POST', headers, body: '{"n":1}' });
      return response.status === 200 ? ((await response.json()) as { status: string }).status : response.status;
    };
    const eight = [0, 1, 2, 3, 4, 5, 6, 7];
    const same = await Promise.all(eight.map((index) => post(index, 'one')));
    assert.deepEqual(same.toSorted(), ['accepted', ...Array(7).fill('duplicate')]);
    const different = await Promise.all(eight.map((index) => post(index, `other-${index}`)));
    assert.deepEqual(different.map(String).toSorted(), [...Array(4).fill('429'), ...Array(4).fill('accepted')]);
    await until(async () => (await store.read(runCounts({}))).delivered === 5);
    await Promise.all(gateways.map((gateway) => gateway.end()));
    await store.close();
  });
});
