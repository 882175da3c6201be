import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { after, before, test } from 'node:test';
import { newRun } from '../../../test/support/new-run.ts';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { openStore } from '../../store/open.ts';
import { claimRun, failRun } from '../../store/run-claims.ts';
import { cancelRun, enqueueRun, getRun } from '../../store/runs.ts';
import type { Store } from '../../store/store.ts';
import { runProgram } from '../program.ts';

const home = tempFolder();

async function svc(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const written = { out: '', err: '' };
  const into = (name: 'out' | 'err') =>
    new Writable({
      write: (text, _encoding, done) => {
        written[name] += String(text);
        done();
      },
    }) as NodeJS.WriteStream;
  const context = {
    env: { SVC_HOME: home },
    cwd: home,
    stdin: process.stdin,
    stdout: into('out'),
    stderr: into('err'),
  };
  const code = await runProgram(args, context);
  return { code, ...written };
}

/** Another process has the same database open, as a gateway would. */
let store: Store;
const failed = newRun({
  id: 'run_a',
  prompt: 'Sweep\u001b[2J.',
  source: { kind: 'job', name: 'nightly' },
  createdAt: Date.now(),
});
const queued = newRun({ id: 'run_b', source: { kind: 'webhook', name: 'issues' }, createdAt: Date.now() });
const old = newRun({ id: 'run_0', createdAt: 1000 });

before(async () => {
  store = await openStore({ file: join(home, 'svc.db') }, { mode: 'inline' });
  await store.write(enqueueRun(failed));
  await store.write(claimRun({ owner: 'w', now: Date.now(), leaseMs: 15_000, after: '' }));
  const failure = { runId: failed.id, attempt: 1, error: 'No server answers.', deliveryIds: [], at: Date.now() };
  await store.write(failRun(failure));
  await store.write(enqueueRun(queued));
  await store.write(enqueueRun(old));
  await store.write(cancelRun({ id: old.id, at: 2000 }));
});
after(() => store.close());

const listed = async (...args: string[]): Promise<string[]> => {
  const { out } = await svc('runs', 'list', '--json', ...args);
  return (JSON.parse(out) as { id: string }[]).map(({ id }) => id);
};

test('runs are listed newest first, and filters narrow the list', async () => {
  assert.deepEqual(await listed(), ['run_b', 'run_a', 'run_0']);
  assert.deepEqual(await listed('--state', 'failed', '--since', '1h'), ['run_a']);
  assert.deepEqual(await listed('--source', 'webhook:issues'), ['run_b']);
  assert.deepEqual(await listed('--limit', '1', '--cursor', 'run_b'), ['run_a']);
  const { out } = await svc('runs', 'list', '--state', 'queued');
  assert.match(out, /^ID +STATE +SOURCE.*\nrun_b +queued +webhook:issues/);
});

test('a run is shown with its prompt and error, and nothing in it can drive the terminal', async () => {
  const { out } = await svc('runs', 'show', 'run_a');
  assert.match(out, /error +No server answers\./);
  assert.ok(!out.includes('\u001b'));
  const json = JSON.parse((await svc('runs', 'show', 'run_a', '--json')).out);
  assert.equal(json.prompt, failed.prompt);
  assert.deepEqual(json.source, { kind: 'job', name: 'nightly' });
  assert.equal(json.answer, null);
});

test('a failed run is queued again and a queued one cancelled, beside the process that has the database open', async () => {
  assert.match((await svc('runs', 'retry', 'run_a')).out, /run_a is queued again/);
  assert.equal((await store.read(getRun({ id: 'run_a' })))?.state, 'queued');
  assert.match((await svc('runs', 'cancel', 'run_a')).out, /run_a is cancelled/);
  assert.equal((await store.read(getRun({ id: 'run_a' })))?.state, 'failed');
});

test('what cannot be done says why, with exit code 1, and wrong usage with 2', async () => {
  const missing = await svc('runs', 'show', 'run_x');
  assert.deepEqual([missing.code, missing.out], [1, '']);
  assert.match(missing.err, /There is no run run_x\.\n +Find its id/);
  assert.equal((await svc('runs', 'retry', 'run_b')).code, 1);
  const misspelt = await svc('runs', 'list', '--state', 'faild');
  assert.equal(misspelt.code, 2);
  assert.match(misspelt.err, /Did you mean failed\?/);
  assert.equal((await svc('runs', 'list', '--since', 'yesterday')).code, 2);
  assert.equal((await svc('runs', 'list', '--limit', '0')).code, 2);
});
