import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { fastClock } from '../../test/support/fast-clock.ts';
import { newRun, type RunChanges } from '../../test/support/new-run.ts';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { until } from '../../test/support/until.ts';
import { SvcError } from '../core/errors.ts';
import { silentLog } from '../core/log.ts';
import { isFinal, type NewRun, type Run } from '../core/run.ts';
import type { Step } from '../core/step.ts';
import type { Clock } from '../core/time.ts';
import { listDeliveries } from '../store/deliveries.ts';
import { openStore } from '../store/open.ts';
import { claimRun } from '../store/run-claims.ts';
import { cancelRun, enqueueRun, getRun, stepsOf } from '../store/runs.ts';
import type { Store } from '../store/store.ts';
import { newId } from '../system/clock.ts';
import type { Execute } from './attempt.ts';
import { createWorker, type Worker, type WorkerOptions } from './worker.ts';

let store: Store;
let clock: Clock;
let workers: Worker[] = [];

beforeEach(async () => {
  store = await openStore({ file: join(tempFolder(), 'svc.db') }, { mode: 'inline' });
  clock = fastClock();
  workers = [];
});
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await store.close();
});

function startWorker(execute: Execute, options: Partial<WorkerOptions> = {}): Worker {
  const base = { store, execute, concurrency: 4, clock, newId, log: silentLog, timeoutMs: 3_600_000 };
  const worker = createWorker({ ...base, ...options });
  workers.push(worker);
  worker.start();
  return worker;
}

async function enqueue(changes: RunChanges = {}): Promise<NewRun> {
  const run = newRun({ createdAt: clock.now(), ...changes });
  await store.write(enqueueRun(run));
  return run;
}

const load = (id: string): Promise<Run | undefined> => store.read(getRun({ id }));
const ended = (id: string): Promise<Run> =>
  until(async () => {
    const run = await load(id);
    return run && isFinal(run.state) && run;
  });

/** Resolves when the signal aborts, as an agent would. */
const hang: Execute = (_run, { signal }) =>
  new Promise((resolve) => {
    const stop = (): void => resolve({ kind: 'interrupted' });
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
  });

const toolStep = (kind: 'tool_started' | 'tool_result'): Step =>
  kind === 'tool_started' ? { kind, callId: 'c1' } : { kind, callId: 'c1', output: 'ok', failed: false };

test('a queued run is carried out once and its answer stored', async () => {
  const seen: string[] = [];
  startWorker(async (run) => {
    seen.push(run.prompt);
    return { kind: 'answer', text: `Did: ${run.prompt}`, silent: false };
  });
  const { id } = await enqueue({ prompt: 'Sweep.' });
  const run = await ended(id);
  assert.equal(run.state, 'delivered');
  assert.equal(run.answer, 'Did: Sweep.');
  assert.deepEqual(seen, ['Sweep.']);
});

test('what is queued in this process is noticed without waiting for the poll', async () => {
  const pollsNever: Clock = { ...clock, sleep: (ms, signal) => clock.sleep(ms === 1000 ? 2 ** 40 : ms, signal) };
  const worker = startWorker(async () => ({ kind: 'answer', text: '', silent: false }), { clock: pollsNever });
  for (let n = 0; n < 3; n += 1) {
    const { id } = await enqueue();
    worker.wake();
    assert.equal((await ended(id)).state, 'delivered');
  }
});

test('no more runs are carried out at once than allowed', async () => {
  let running = 0;
  let most = 0;
  const execute: Execute = async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, 5));
    running -= 1;
    return { kind: 'answer', text: '', silent: false };
  };
  const runs = await Promise.all(Array.from({ length: 9 }, () => enqueue()));
  startWorker(execute, { concurrency: 3 });
  await Promise.all(runs.map(({ id }) => ended(id)));
  assert.equal(most, 3);
});

test('with a concurrency of 0 runs stay queued', async () => {
  const { id } = await enqueue();
  const worker = startWorker(hang, { concurrency: 0 });
  worker.wake();
  await clock.sleep(3000);
  assert.equal((await load(id))?.state, 'queued');
});

test('a cancelled run is interrupted at the next heartbeat and reports nothing', async () => {
  const { id } = await enqueue({ reportFailure: true, addresses: [{ target: 'log' }] });
  startWorker(hang);
  await until(async () => (await load(id))?.state === 'running');
  await store.write(cancelRun({ id, at: clock.now() }));
  const run = await ended(id);
  assert.equal(run.state, 'failed');
  assert.equal(run.error, 'Cancelled.');
  assert.equal((await store.read(listDeliveries({ runId: id, limit: 9 }))).deliveries.length, 0);
});

test('a run beyond its own time limit fails and says so, also to its target when that is asked for', async () => {
  const run = newRun({ createdAt: clock.now(), reportFailure: true, addresses: [{ target: 'log' }] });
  await store.write(enqueueRun({ ...run, settings: { ...run.settings, timeoutMs: 2000 } }));
  startWorker(hang);
  assert.match((await ended(run.id)).error ?? '', /longer than its time limit of 2 s/);
  const { deliveries } = await store.read(listDeliveries({ runId: run.id, limit: 9 }));
  assert.equal(deliveries.length, 1);
});

test('a transient failure is tried again after a delay, from the recorded steps', async () => {
  const { id } = await enqueue({ maxRetries: 1 });
  const stepCounts: number[] = [];
  startWorker(async (_run, { steps, record }) => {
    stepCounts.push(steps.length);
    if (steps.length > 0) return { kind: 'answer', text: 'at last', silent: false };
    await record(toolStep('tool_started'));
    return { kind: 'failed', reason: 'the server is away', transient: true };
  });
  const run = await ended(id);
  assert.equal(run.answer, 'at last');
  assert.equal(run.error, undefined);
  assert.equal(run.retries, 1);
  assert.deepEqual(stepCounts, [0, 1]);
});

test('an executor that throws fails its run alone', async () => {
  const [bad, good] = [await enqueue({ prompt: 'bad' }), await enqueue()];
  startWorker(async (run) => {
    if (run.prompt === 'bad') throw new Error('no such thing');
    return { kind: 'answer', text: '', silent: false };
  });
  assert.equal((await ended(bad.id)).error, 'no such thing');
  assert.equal((await ended(good.id)).state, 'delivered');
});

test('stopping leaves a running run queued with its steps, and another worker goes on', async () => {
  const { id } = await enqueue();
  const worker = startWorker(async (run, context) => {
    await context.record(toolStep('tool_started'));
    await context.record(toolStep('tool_result'));
    return hang(run, context);
  });
  await until(async () => (await store.read(stepsOf({ id }))).length === 2);
  await worker.stop();
  const left = await load(id);
  assert.equal(left?.state, 'queued');
  assert.equal(left?.owner, undefined);
  startWorker(async (_run, { steps }) => ({ kind: 'answer', text: `${steps.length} steps`, silent: false }));
  assert.equal((await ended(id)).answer, '2 steps');
});

test('stopping waits for a tool that is under way, so that its outcome is known', async () => {
  const { id } = await enqueue();
  let aborted = false;
  const worker = startWorker(async (run, context) => {
    await context.record(toolStep('tool_started'));
    await clock.sleep(2000);
    aborted = context.signal.aborted;
    await context.record(toolStep('tool_result'));
    return hang(run, context);
  });
  await until(async () => (await store.read(stepsOf({ id }))).length === 1);
  await worker.stop();
  assert.equal(aborted, false);
  assert.equal((await store.read(stepsOf({ id }))).length, 2);
  assert.equal((await load(id))?.state, 'queued');
});

test('an executor that ignores its signal cannot hold up the stop', async () => {
  const { id } = await enqueue();
  const worker = startWorker(() => new Promise(() => {}));
  await until(async () => (await load(id))?.state === 'running');
  await worker.stop();
  assert.equal((await load(id))?.state, 'queued');
});

test('a worker that lost its lease stops and stores nothing', async () => {
  const { id } = await enqueue();
  const outcome = Promise.withResolvers<string>();
  startWorker(async (_run, { signal, record }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await record(toolStep('tool_started')).catch(() => outcome.resolve('refused'));
    return { kind: 'answer', text: 'too late', silent: false };
  });
  await until(async () => (await load(id))?.state === 'running');
  const later = clock.now() + 3_600_000;
  const { run } = await store.write(claimRun({ owner: 'rival', now: later, leaseMs: 15_000, after: '' }));
  assert.equal(run?.attempt, 2);
  assert.equal(await outcome.promise, 'refused');
  await workers[0]?.stop();
  const left = await load(id);
  assert.equal(left?.state, 'running');
  assert.equal(left?.owner, 'rival');
  assert.equal(left?.answer, undefined);
});

test('a run whose workers died five times fails instead of killing a sixth', async () => {
  const { id } = await enqueue();
  const start = clock.now();
  for (let claims = 0; claims < 5; claims += 1) {
    // Leases of no length: each claimer is dead before the next one looks.
    await store.write(claimRun({ owner: `dead${claims}`, now: start + claims, leaseMs: 0, after: '' }));
  }
  let executed = false;
  await clock.sleep(1000);
  startWorker(async () => {
    executed = true;
    return { kind: 'answer', text: '', silent: false };
  });
  assert.match((await ended(id)).error ?? '', /died 5 times/);
  assert.equal(executed, false);
});

test('a store that is busy for a while loses neither a step nor the answer', async () => {
  let trouble = 0;
  const shaky: Store = {
    ...store,
    write: (operation) => {
      const spared = operation.name === 'runs.claim' || operation.name === 'runs.renew';
      if (spared || trouble++ % 3 === 2) return store.write(operation);
      return Promise.reject(new SvcError('store_busy', 'Too much is waiting to be stored.'));
    },
  };
  const { id } = await enqueue();
  startWorker(
    async (_run, { record }) => {
      await record(toolStep('tool_started'));
      return { kind: 'answer', text: 'kept', silent: true };
    },
    { store: shaky },
  );
  const run = await ended(id);
  assert.equal(run.answer, 'kept');
  assert.equal(run.state, 'silent');
  assert.equal((await store.read(stepsOf({ id }))).length, 1);
});

test('a run whose step cannot be stored for long goes back to the queue instead of failing', async () => {
  let broken = true;
  const shaky: Store = {
    ...store,
    write: (operation) => {
      if (!broken || operation.name !== 'runs.record_step') return store.write(operation);
      return Promise.reject(new SvcError('store_unavailable', 'There is no space left.'));
    },
  };
  const { id } = await enqueue();
  startWorker(
    async (_run, { record }) => {
      await record(toolStep('tool_started')).finally(() => {
        broken = false;
      });
      return { kind: 'answer', text: 'in the end', silent: false };
    },
    { store: shaky },
  );
  const run = await ended(id);
  assert.equal(run.answer, 'in the end');
  assert.equal(run.attempt, 2);
});
