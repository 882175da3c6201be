// Group commit against one transaction per write, both durable, with the same rows on the same disk.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NewRun } from '../src/core/run.ts';
import { openStore } from '../src/store/open.ts';
import { enqueueRun } from '../src/store/runs.ts';
import type { Store } from '../src/store/store.ts';
import { newId } from '../src/system/clock.ts';
import { atLeast, lineOf, type Result } from './report.ts';

const WRITERS = 64;
/** Short turns, so that whatever else the machine does hits both alike. */
const TURNS = 60;
const TURN_MS = 60;

export async function run(): Promise<Result[]> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  // Inline, every write is its own transaction and sync; threaded, writes that wait together share one.
  const single = { store: await openStore({ file: join(folder, 'single.db') }, { mode: 'inline' }), rows: 0, ms: 0 };
  const grouped = {
    store: await openStore({ file: join(folder, 'grouped.db') }, { mode: 'threaded' }),
    rows: 0,
    ms: 0,
  };
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const side of [single, grouped]) {
      const start = performance.now();
      const rows = await write(side.store);
      // The first turns warm both up.
      if (turn < TURNS / 10) continue;
      side.rows += rows;
      side.ms += performance.now() - start;
    }
  }
  await Promise.all([single.store.close(), grouped.store.close()]);
  rmSync(folder, { recursive: true });
  const rate = ({ rows, ms }: { rows: number; ms: number }): number => (rows / ms) * 1000;
  const detail = `${rate(grouped).toFixed(0)} against ${rate(single).toFixed(0)} rows/s`;
  const value = rate(grouped) / rate(single);
  return [atLeast(4, { name: `durable commits with ${WRITERS} writers, grouped`, value, detail })];
}

/** All writers write one row after another for one turn; returns how many rows were acknowledged. */
async function write(store: Store): Promise<number> {
  const end = performance.now() + TURN_MS;
  let rows = 0;
  const writer = async (): Promise<void> => {
    while (performance.now() < end) {
      await store.write(enqueueRun(exampleRun()));
      rows += 1;
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
  return rows;
}

const exampleRun = (): NewRun => ({
  id: newId('run'),
  source: { kind: 'webhook', name: 'bench' },
  prompt: 'x'.repeat(2000),
  settings: { skills: [], toolsets: [], untrusted: true, silentMarker: false, reportFailure: false, maxRetries: 0 },
  addresses: [{ target: 'log' }],
  createdAt: 0,
});

if (import.meta.main) for (const result of await run()) console.log(lineOf(result));
