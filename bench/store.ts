// Group commit against one transaction per write, both durable, with the same rows on the same disk.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NewRun } from '../src/core/run.ts';
import { openStore } from '../src/store/open.ts';
import { enqueueRun } from '../src/store/runs.ts';
import { newId } from '../src/system/clock.ts';
import { atLeast, lineOf, median, type Result } from './report.ts';

const WRITERS = 64;
const ROUNDS = 15;
const ROUND_MS = 300;

export async function run(): Promise<Result[]> {
  const ratios: number[] = [];
  const grouped: number[] = [];
  const single: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    // Side by side in time: what the machine does besides hits both.
    const one = await commitsPerSecond('inline');
    const group = await commitsPerSecond('threaded');
    single.push(one);
    grouped.push(group);
    ratios.push(group / one);
  }
  const detail = `${median(grouped).toFixed(0)} against ${median(single).toFixed(0)} rows/s, median of ${ROUNDS} rounds`;
  return [atLeast(4, { name: `durable commits with ${WRITERS} writers, grouped`, value: median(ratios), detail })];
}

/** Inline, every write is its own transaction and sync; threaded, writes that wait together share one. */
async function commitsPerSecond(mode: 'inline' | 'threaded'): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const store = await openStore({ file: join(folder, 'svc.db') }, { mode });
  const start = performance.now();
  let rows = 0;
  const writer = async (): Promise<void> => {
    while (performance.now() - start < ROUND_MS) {
      await store.write(enqueueRun(exampleRun()));
      rows += 1;
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
  const seconds = (performance.now() - start) / 1000;
  await store.close();
  rmSync(folder, { recursive: true });
  return rows / seconds;
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
