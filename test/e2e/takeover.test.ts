import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openStore } from '../../src/store/open.ts';
import { enqueueRun, getRun } from '../../src/store/runs.ts';
import type { Store } from '../../src/store/store.ts';
import { startNode } from '../support/child.ts';
import { newRun } from '../support/new-run.ts';
import { freshDatabase, withoutPostgres } from '../support/postgres.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { until } from '../support/until.ts';

const CHILD = fileURLToPath(new URL('../support/store-child.ts', import.meta.url));
const LEASE_MS = 15_000;
const PROMISED_MS = 20_000;

const openAt = (where: string): Promise<Store> =>
  openStore(where.startsWith('postgres:') ? { url: where } : { file: where }, { mode: 'inline' });

function startWorker(where: string, journal: string, options: { leaseMs: number; hangAt: number }) {
  return startNode([CHILD, 'work', where, journal, String(options.leaseMs), String(options.hangAt)]);
}

async function queueOne(where: string): Promise<{ store: Store; id: string; journal: string }> {
  const store = await openAt(where);
  const run = newRun({ createdAt: Date.now() });
  await store.write(enqueueRun(run));
  const journal = join(tempFolder(), 'journal');
  writeFileSync(journal, '');
  return { store, id: run.id, journal };
}

const answered = (store: Store, id: string) =>
  until(async () => {
    const run = await store.read(getRun({ id }));
    return run?.state === 'delivered' && run;
  });

/** A second process waits beside the first; the first is killed in the middle of the run. */
async function takeover(where: string): Promise<number> {
  const { store, id, journal } = await queueOne(where);
  const first = startWorker(where, journal, { leaseMs: LEASE_MS, hangAt: 2 });
  await first.says('step 1');
  const second = startWorker(where, journal, { leaseMs: LEASE_MS, hangAt: 0 });
  await second.says('ready');
  const killedAt = Date.now();
  await first.kill();
  await second.says('attempt 2 after 1 steps');
  const tookMs = Date.now() - killedAt;
  assert.equal((await answered(store, id)).attempt, 2);
  await second.kill();
  await store.close();
  return tookMs;
}

/** Killed after two steps are stored; a new process goes on. Every step is noted when it is really done. */
async function resume(where: string): Promise<string> {
  const { store, id, journal } = await queueOne(where);
  const first = startWorker(where, journal, { leaseMs: 1500, hangAt: 3 });
  await first.says('step 2');
  await first.kill();
  const second = startWorker(where, journal, { leaseMs: 1500, hangAt: 0 });
  await second.says('attempt 2 after 2 steps');
  assert.equal((await answered(store, id)).answer, 'All done.');
  await second.kill();
  await store.close();
  return readFileSync(journal, 'utf8');
}

const ALL_STEPS_ONCE = 'step 1\nstep 2\nstep 3\nstep 4\nstep 5\n';

describe('a run outlives its worker', { concurrency: true }, () => {
  test('on SQLite another process takes it over within 20 s of kill -9', async (t) => {
    const tookMs = await takeover(join(tempFolder(), 'svc.db'));
    t.diagnostic(`taken over after ${tookMs} ms`);
    assert.ok(tookMs < PROMISED_MS);
  });

  test('on PostgreSQL another process takes it over within 20 s of kill -9', { skip: withoutPostgres }, async (t) => {
    const tookMs = await takeover(await freshDatabase());
    t.diagnostic(`taken over after ${tookMs} ms`);
    assert.ok(tookMs < PROMISED_MS);
  });

  test('on SQLite a run killed between its second and third step resumes at the third', async () => {
    assert.equal(await resume(join(tempFolder(), 'svc.db')), ALL_STEPS_ONCE);
  });

  test('on PostgreSQL a run killed between its second and third step resumes at the third', {
    skip: withoutPostgres,
  }, async () => {
    assert.equal(await resume(await freshDatabase()), ALL_STEPS_ONCE);
  });
});
