import assert from 'node:assert/strict';
import { closeSync, openSync, readdirSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startNode } from '../../../test/support/child.ts';
import { newRun } from '../../../test/support/new-run.ts';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import type { SvcError } from '../../core/errors.ts';
import { openStore } from '../open.ts';
import { claimRun, recordStep } from '../run-claims.ts';
import { enqueueRun, listRuns, runCounts } from '../runs.ts';

const newFile = (): string => join(tempFolder(), 'svc.db');
const MODES = ['threaded', 'inline'] as const;

test('the database belongs to its owner alone, also when it was readable by others before', async () => {
  const file = newFile();
  writeFileSync(file, '', { mode: 0o644 });
  const store = await openStore({ file }, { mode: 'threaded' });
  await store.write(enqueueRun(newRun()));
  for (const name of [file, `${file}-wal`, `${file}-shm`]) assert.equal(statSync(name).mode & 0o777, 0o600, name);
  await store.close();
});

test('a database of a newer version is refused and left as it is', async () => {
  const file = newFile();
  await (await openStore({ file }, { mode: 'inline' })).close();
  const database = new DatabaseSync(file);
  database.exec("INSERT INTO svc_migrations VALUES (9999, 'from-the-future')");
  database.close();
  const before = readFileSync(file);
  for (const mode of MODES) await assert.rejects(openStore({ file }, { mode }), { code: 'store_newer' });
  assert.ok(readFileSync(file).equals(before));
});

test('a file that is no database gives one clear message and is left as it is', async () => {
  const file = newFile();
  const text = 'dear diary, '.repeat(1000);
  writeFileSync(file, text);
  for (const mode of MODES) {
    await assert.rejects(openStore({ file }, { mode }), (error: SvcError) => {
      assert.equal(error.code, 'store_unavailable');
      assert.match(error.message, /svc\.db is damaged or not a database/);
      assert.match(error.help ?? '', /backup/);
      return true;
    });
  }
  assert.equal(readFileSync(file, 'utf8'), text);
});

test('a folder that does not exist gives one clear message', async () => {
  const file = join(tempFolder(), 'nowhere', 'svc.db');
  await assert.rejects(openStore({ file }, { mode: 'inline' }), { code: 'store_unavailable', message: /nowhere/ });
});

for (const mode of MODES) {
  test(`a database that is found damaged stops the store instead of getting worse (${mode})`, async () => {
    const file = newFile();
    const first = await openStore({ file }, { mode: 'inline' });
    for (let n = 0; n < 50; n += 1) await first.write(enqueueRun(newRun({ prompt: 'x'.repeat(3000) })));
    await first.close();
    damageTable(file, 'runs');
    const told: string[] = [];
    const damaged = await openStore({ file }, { mode, onFatal: ({ code }) => told.push(code) });
    await assert.rejects(damaged.write(enqueueRun(newRun())), { code: 'store_unavailable' });
    await assert.rejects(damaged.write(enqueueRun(newRun())), { code: 'store_unavailable' });
    assert.deepEqual(told, ['store_unavailable']);
    await damaged.close();
  });
}

for (const mode of MODES) {
  test(`a closed store leaves one file behind (${mode})`, async () => {
    const file = newFile();
    const store = await openStore({ file }, { mode });
    await store.write(enqueueRun(newRun()));
    await store.close();
    assert.deepEqual(readdirSync(dirname(file)), ['svc.db']);
  });
}

test('the queue in front of the writer is bounded by operations; what was taken is stored', async () => {
  const store = await openStore({ file: newFile() }, { mode: 'threaded' });
  const results = await Promise.allSettled(Array.from({ length: 3000 }, () => store.write(enqueueRun(newRun()))));
  const refused = results.filter((result) => result.status === 'rejected');
  assert.ok(refused.length > 0);
  for (const { reason } of refused) assert.equal(reason.code, 'store_busy');
  assert.equal((await store.read(runCounts({}))).queued, 3000 - refused.length);
  await store.write(enqueueRun(newRun()));
  await store.close();
});

test('the queue in front of the writer is bounded by bytes', async () => {
  const store = await openStore({ file: newFile() }, { mode: 'threaded' });
  const prompt = 'x'.repeat(2 ** 20);
  const results = await Promise.allSettled(
    Array.from({ length: 40 }, () => store.write(enqueueRun(newRun({ prompt })))),
  );
  const refused = results.filter((result) => result.status === 'rejected');
  // Two bytes a character: a little less than 32 of them fit into 64 MiB.
  assert.equal(refused.length, 9);
  for (const { reason } of refused) assert.equal(reason.code, 'store_busy');
  await store.close();
});

test('an input that cannot cross to the writer fails alone', async () => {
  const store = await openStore({ file: newFile() }, { mode: 'threaded' });
  const surprise = { kind: 'tool_started', callId: (() => {}) as unknown as string } as const;
  const broken = recordStep({ runId: 'run', attempt: 1, seq: 1, step: surprise, at: 1 });
  const results = await Promise.allSettled([store.write(broken), store.write(enqueueRun(newRun()))]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'fulfilled'],
  );
  await store.close();
});

test('a command reads and writes beside a gateway that writes flat out', async () => {
  const file = newFile();
  const child = fileURLToPath(new URL('../../../test/support/store-child.ts', import.meta.url));
  const gateway = startNode([child, 'write', file]);
  await gateway.says('run_');
  const store = await openStore({ file }, { mode: 'inline' });
  for (let n = 0; n < 20; n += 1) {
    const run = newRun({ source: { kind: 'manual', name: 'command' } });
    await store.write(enqueueRun(run));
    const { runs } = await store.read(listRuns({ sourceName: 'command', limit: 1 }));
    assert.equal(runs[0]?.id, run.id);
  }
  assert.ok((await store.write(claimRun({ owner: 'x', now: Date.now(), leaseMs: 1, after: '' }))).run);
  await gateway.kill();
  await store.close();
});

test('an open store does not keep a finished process alive', async () => {
  const open = new URL('../open.ts', import.meta.url).href;
  const script = `const { openStore } = await import(${JSON.stringify(open)});
    await openStore({ file: ${JSON.stringify(newFile())} }, { mode: 'threaded' }); console.log('end');`;
  const child = startNode(['--input-type=module', '-e', script]);
  assert.deepEqual(await child.ended(), { code: 0, errors: '' });
  assert.equal(child.output(), 'end\n');
});

/** Overwrites the start of the table's first page, as a bad disk would. */
function damageTable(file: string, table: string): void {
  const database = new DatabaseSync(file, { readOnly: true });
  const { rootpage } = database.prepare('SELECT rootpage FROM sqlite_master WHERE name = ?').get(table) ?? {};
  const { page_size: pageSize } = database.prepare('PRAGMA page_size').get() ?? {};
  database.close();
  const fd = openSync(file, 'r+');
  writeSync(fd, Buffer.alloc(512, 0xff), 0, 512, (Number(rootpage) - 1) * Number(pageSize));
  closeSync(fd);
}
