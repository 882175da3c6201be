import assert from 'node:assert/strict';
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { attempt, openBench, testTarget } from '../target.contract.ts';
import { local } from './local.ts';

testTarget(local, { target: 'local' });

test('local writes a file of its own for every message and overwrites none', async () => {
  await using bench = await openBench({});
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      attempt(bench.delivery, { address: { target: 'local' }, text: `text ${index}` }),
    ),
  );
  const paths = outcomes.map((outcome) => (outcome.kind === 'delivered' ? (outcome.receipt ?? '') : ''));
  assert.equal(new Set(paths).size, 20);
  const folder = join(bench.folder, 'deliveries', 'nightly');
  assert.equal((await readdir(folder)).length, 20);
  assert.match(paths[0] ?? '', /nightly\/\d{4}-\d\d-\d\dT[\d-]+\.\d{3}Z(-\d+)?\.md$/);
  assert.equal(await readFile(paths[7] ?? '', 'utf8'), 'text 7\n');
  assert.equal((await stat(paths[0] ?? '')).mode & 0o777, 0o600);
});

test('the name of a job cannot lead out of the folder', async () => {
  await using bench = await openBench({});
  const signal = new AbortController().signal;
  for (const source of ['../../etc/cron.d/x', '/etc/passwd', '..', 'a/b\0c', '']) {
    const message = { id: 'dlv_1', source, address: { target: 'local' }, text: 'hi', partsSent: 0 };
    const outcome = await bench.delivery.attempt(message, signal);
    assert.ok(outcome.kind === 'delivered');
    assert.equal(dirname(dirname(outcome.receipt ?? '')), join(bench.folder, 'deliveries'));
  }
});

test('local takes an empty text and a megabyte', async () => {
  await using bench = await openBench({});
  for (const text of ['', 'x'.repeat(1024 * 1024)]) {
    assert.equal((await attempt(bench.delivery, { address: { target: 'local' }, text })).kind, 'delivered');
  }
});
