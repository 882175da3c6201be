import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openStore } from '../../src/store/open.ts';
import { enqueueRun, getRun } from '../../src/store/runs.ts';
import { startNode } from '../support/child.ts';
import { newRun } from '../support/new-run.ts';
import { freshDatabase, withoutPostgres } from '../support/postgres.ts';
import { tempFolder } from '../support/temp-folder.ts';

const CHILD = fileURLToPath(new URL('../support/store-child.ts', import.meta.url));
const ROUNDS = 20;
const LANES = 2;

/** Kills a process that commits in groups at a random moment; returns the ids it had acknowledged. */
async function killedWhileWriting(mode: 'write' | 'write-early', where: string): Promise<string[]> {
  const child = startNode([CHILD, mode, where]);
  await child.says('run_');
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 150));
  await child.kill();
  // The last line may be cut short.
  return child.output().split('\n').slice(0, -1);
}

async function lostOf(acknowledged: readonly string[], where: string): Promise<string[]> {
  const place = where.startsWith('postgres:') ? { url: where } : { file: where };
  const store = await openStore(place, { mode: 'inline' });
  try {
    const found = await Promise.all(acknowledged.map((id) => store.read(getRun({ id }))));
    // The survivor is still a working store.
    await store.write(enqueueRun(newRun({ id: `after-${acknowledged[0]}` })));
    return acknowledged.filter((_, index) => found[index] === undefined);
  } finally {
    await store.close();
  }
}

/** Rounds on one database, one after another: later ones start from what the earlier ones left. */
async function rounds(count: number, mode: 'write' | 'write-early', where: string) {
  let acknowledged = 0;
  let lost = 0;
  for (let round = 0; round < count; round += 1) {
    const ids = await killedWhileWriting(mode, where);
    acknowledged += ids.length;
    lost += (await lostOf(ids, where)).length;
  }
  return { acknowledged, lost };
}

async function noneLost(t: { diagnostic(text: string): void }, places: readonly string[]): Promise<void> {
  const results = await Promise.all(places.map((place) => rounds(ROUNDS / LANES, 'write', place)));
  const acknowledged = results.reduce((sum, result) => sum + result.acknowledged, 0);
  const lost = results.reduce((sum, result) => sum + result.lost, 0);
  t.diagnostic(`${ROUNDS} kills, ${acknowledged} acknowledged rows, ${lost} lost`);
  assert.ok(acknowledged >= ROUNDS);
  assert.equal(lost, 0);
}

describe('a row that was acknowledged survives kill -9 during group commit', () => {
  test('on SQLite', async (t) => {
    const files = Array.from({ length: LANES }, () => join(tempFolder(), 'svc.db'));
    await noneLost(t, files);
    for (const file of files) {
      const database = new DatabaseSync(file, { readOnly: true });
      assert.deepEqual({ ...database.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' });
      database.close();
    }
  });

  test('on PostgreSQL', { skip: withoutPostgres }, async (t) => {
    await noneLost(t, await Promise.all(Array.from({ length: LANES }, () => freshDatabase())));
  });

  test('and this test would see a loss: acknowledging before the commit is found out', async () => {
    const { lost } = await rounds(3, 'write-early', join(tempFolder(), 'svc.db'));
    assert.ok(lost > 0);
  });
});
