import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dueMinutes, readZoneMinutes } from '../../test/support/minute-oracle.ts';
import type { Job } from '../core/job.ts';
import { simulate } from './simulate.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

const job = (name: string, schedule: string, changes: Partial<Job> = {}): Job => ({
  id: `job_${name}`,
  name,
  schedule,
  tz: 'Europe/Berlin',
  anchorAt: Date.UTC(2026, 0, 1),
  prompt: 'x',
  overlap: 'skip',
  options: { deliver: 'log', skills: [], retries: 0, madeBy: 'person', script: '/never/started.sh' },
  enabled: true,
  revision: 7,
  failures: 0,
  createdAt: Date.UTC(2026, 0, 1),
  updatedAt: Date.UTC(2026, 0, 1),
  ...changes,
});

test('the simulation fires exactly when a scan of every minute says, over a clock change', async () => {
  const from = Date.UTC(2026, 2, 20);
  const minutes = readZoneMinutes('Europe/Berlin', from, from + 20 * DAY);
  const expressions = ['30 2 * * *', '0 * * * *', '15 9 * * 1-5', '*/30 1-3 29 3 *', '0 0 1 4 *'];
  const jobs = expressions.map((text, index) => job(`j${index}`, text));
  const played = await simulate({ jobs, from: from - 1, days: 20, runMs: MINUTE, workers: 10 });
  for (const [index, text] of expressions.entries()) {
    assert.deepEqual(
      played.jobs[index]?.slots.map(({ dueAt }) => dueAt),
      dueMinutes(text, minutes),
      text,
    );
  }
  assert.ok(played.jobs[0]?.slots.some(({ note }) => note?.includes('did not exist')));
  assert.equal(played.cut, false);
});

test('runs that take longer than the period are skipped, queued or side by side, as the job says', async () => {
  const from = Date.UTC(2026, 5, 1);
  const jobs = [
    job('skip', 'every 10m', { anchorAt: from }),
    job('parallel', 'every 10m', { anchorAt: from, overlap: 'parallel' }),
  ];
  const played = await simulate({ jobs, from, days: 1, runMs: 25 * MINUTE, workers: 10 });
  const [skip, parallel] = played.jobs;
  assert.deepEqual([skip?.slots.length, skip?.skipped], [143, 95]);
  assert.deepEqual([parallel?.slots.length, parallel?.skipped], [143, 0]);
  const runs = played.perHour.reduce((sum, count) => sum + count, 0);
  assert.equal(runs, 143 - 95 + 143);
  assert.ok((played.busiest?.runs ?? 0) >= 8);
});

test('too few workers show as waiting time', async () => {
  const jobs = ['a', 'b', 'c'].map((name) => job(name, '0 9 * * *'));
  const from = Date.UTC(2026, 5, 1);
  const played = await simulate({ jobs, from, days: 1, runMs: 10 * MINUTE, workers: 1 });
  assert.equal(played.longestWaitMs, 20 * MINUTE);
});
