import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openStore } from '../../src/store/open.ts';
import { enqueueRun } from '../../src/store/runs.ts';
import { startChild } from '../support/child.ts';
import { failingSyncs } from '../support/fail-syscalls.ts';
import { newRun } from '../support/new-run.ts';
import { createSvcHome } from '../support/svc.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { until } from '../support/until.ts';

const CHILD = fileURLToPath(new URL('../support/store-trouble-child.ts', import.meta.url));
const bubblewrapWorks = spawnSync('bwrap', ['--dev-bind', '/', '/', 'true']).status === 0;
const withoutBubblewrap =
  bubblewrapWorks || process.env.SVC_E2E === 'required'
    ? false
    : 'bubblewrap does not work here (apt-get install bubblewrap)';

async function inSandbox(options: readonly string[], command: readonly string[]): Promise<string[]> {
  return lines(['bwrap', '--dev-bind', '/', '/', ...options, ...command]);
}

async function lines(command: readonly string[]): Promise<string[]> {
  const child = startChild(command);
  const { code, errors } = await child.ended();
  assert.equal(code, 0, errors);
  return child.output().trim().split('\n');
}

async function existingDatabase(): Promise<{ folder: string; file: string }> {
  const folder = tempFolder();
  const file = join(folder, 'svc.db');
  await (await openStore({ file }, { mode: 'inline' })).close();
  return { folder, file };
}

describe('a disk that fails is an error for the caller, never a silent success', () => {
  for (const mode of ['threaded', 'inline']) {
    test(`a full disk: writes are refused, and accepted again when there is room (${mode})`, {
      skip: withoutBubblewrap,
    }, async () => {
      const folder = tempFolder();
      const small = join(folder, 'small');
      mkdirSync(small);
      const script = `head -c 1000000 /dev/zero > "${small}/filler"; exec "${process.execPath}" "${CHILD}" "${small}/svc.db" ${mode} "${small}/filler"`;
      const said = await inSandbox(['--size', '3000000', '--tmpfs', small], ['sh', '-c', script]);
      assert.deepEqual(said, [
        'first store_unavailable',
        'then store_unavailable',
        'with room stored',
        'rows as acknowledged',
      ]);
    });

    test(`a file that may not grow: the store stops for good (${mode})`, async () => {
      const { file } = await existingDatabase();
      // A write that fails with something else than "no space" is a disk error to SQLite.
      const script = `trap '' XFSZ; ulimit -f 1000; exec "${process.execPath}" "${CHILD}" "${file}" ${mode}`;
      assert.deepEqual(await lines(['sh', '-c', script]), [
        'fatal store_unavailable',
        'first store_unavailable',
        'then store_unavailable',
        'rows as acknowledged',
      ]);
    });

    test(`a sync that fails: nothing is acknowledged any more (${mode})`, { skip: withoutBubblewrap }, async () => {
      const filter = failingSyncs();
      assert.ok(filter, 'the numbers of the sync calls are known for this processor');
      const { folder, file } = await existingDatabase();
      writeFileSync(join(folder, 'filter'), filter);
      const script = `exec bwrap --dev-bind / / --seccomp 9 "${process.execPath}" "${CHILD}" "${file}" ${mode} 9< "${join(folder, 'filter')}"`;
      const said = await lines(['sh', '-c', script]);
      assert.deepEqual(said.slice(0, 3), [
        'fatal store_unavailable',
        'first store_unavailable',
        'then store_unavailable',
      ]);
    });
  }

  test('a read-only disk: one message that says what to check', { skip: withoutBubblewrap }, async () => {
    const { folder, file } = await existingDatabase();
    const said = await inSandbox(['--ro-bind', folder, folder], [process.execPath, CHILD, file, 'threaded']);
    assert.equal(said.length, 1);
    assert.match(said[0] ?? '', /^open store_unavailable: .*svc\.db cannot be opened/);
  });

  test('a gateway whose disk fails says so and ends with an error', async () => {
    const launcher = fileURLToPath(new URL('../../bin/svc', import.meta.url));
    const limited = `trap '' XFSZ; ulimit -f 2000; exec "$0" "$@"`;
    const home = createSvcHome(['sh', '-c', limited, process.execPath, launcher]);
    try {
      const gateway = await home.startGateway();
      const store = await openStore({ file: join(home.path, 'svc.db') }, { mode: 'inline' });
      // Makes the log of the database longer than the gateway may write: its next commit fails in the middle.
      await store.write(enqueueRun(newRun({ createdAt: Date.now(), prompt: 'x'.repeat(3_000_000) })));
      await until(() => gateway.child.exitCode !== null);
      assert.equal(gateway.child.exitCode, 1);
      assert.match(gateway.output(), /The disk failed while .*svc\.db was used/);
      await store.close();
    } finally {
      await home.remove();
    }
  });
});
