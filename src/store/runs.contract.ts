// How runs end, are told to the world, looked at and removed, in every store.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { LEASE_MS, type StoreFixture, step } from '../../test/support/store-fixture.ts';
import { isFinal, LEGAL_MOVES } from '../core/run.ts';
import { type Delivery, listDeliveries } from './deliveries.ts';
import { claimDeliveries, endAttempt } from './outbox.ts';
import { failRun, recordStep, releaseRun, renewLease } from './run-claims.ts';
import { cancelRun, getRun, listRuns, pruneRuns, retryRun, runCounts, stepsOf } from './runs.ts';
import type { Store } from './store.ts';

export function runsContract({ stores, enqueue, stateOf, claim, claimAll, answer, clear }: StoreFixture): void {
  describe('ending', () => {
    test('an answer becomes one message per address in the same transaction', async () => {
      await clear();
      const run = await enqueue({ addresses: [{ target: 'log' }, { target: 'telegram', chatId: '7' }] });
      await claim(2000);
      const answered = await answer(run.id, 1, { deliveryIds: [`d1-${run.id}`, `d2-${run.id}`] });
      assert.equal(answered?.state, 'answered');
      assert.equal(answered?.answer, 'Hello.');
      assert.equal(answered?.owner, undefined);
      assert.equal(answered?.endedAt, undefined);
    });

    test('an answer that goes nowhere is delivered at once, a silent one is kept', async () => {
      await clear();
      const [nowhere, silent] = [await enqueue(), await enqueue({ addresses: [{ target: 'log' }] })];
      await claimAll(2000);
      assert.equal((await answer(nowhere.id, 1))?.state, 'delivered');
      const kept = await answer(silent.id, 1, { silent: true });
      assert.equal(kept?.state, 'silent');
      assert.equal(kept?.answer, 'Hello.');
      assert.equal(kept?.endedAt, 5000);
    });

    test('a transient failure is tried again later until no retries are left', async () => {
      await clear();
      const { id: runId } = await enqueue({ maxRetries: 1 });
      await claim(2000);
      const failure = { runId, error: 'the server is away', retryAt: 8000, deliveryIds: [], at: 3000 };
      assert.equal((await stores.store.write(failRun({ ...failure, attempt: 1 })))?.state, 'queued');
      assert.equal((await claim(7999)).run, undefined);
      assert.equal((await claim(8000)).run?.retries, 1);
      const failed = await stores.store.write(failRun({ ...failure, attempt: 2 }));
      assert.equal(failed?.state, 'failed');
      assert.equal(failed?.error, 'the server is away');
      assert.equal(failed?.endedAt, 3000);
    });

    test('cancelling ends a queued run, asks a running one and comes too late for an ended one', async () => {
      await clear();
      const [queued, running] = [await enqueue({ serialKey: 'c' }), await enqueue()];
      await stores.store.write(cancelRun({ id: queued.id, at: 2000 }));
      await claim(2000);
      assert.equal(await stateOf(queued.id), 'failed');
      assert.deepEqual(await stores.other.write(cancelRun({ id: running.id, at: 2000 })), { kind: 'requested' });
      const renewal = { runId: running.id, attempt: 1, now: 2100, leaseMs: LEASE_MS };
      assert.deepEqual(await stores.store.write(renewLease(renewal)), { kind: 'held', cancelRequested: true });
      await stores.store.write(
        failRun({ runId: running.id, attempt: 1, error: 'Cancelled.', deliveryIds: [], at: 2200 }),
      );
      const late = await stores.store.write(cancelRun({ id: running.id, at: 2300 }));
      assert.deepEqual(late, { kind: 'too_late', state: 'failed' });
      assert.deepEqual(await stores.store.write(cancelRun({ id: 'nothing', at: 1 })), { kind: 'not_found' });
    });

    test('a failed run that is tried again starts afresh but keeps its steps', async () => {
      await clear();
      const { id: runId } = await enqueue();
      await claim(2000);
      await stores.store.write(recordStep({ runId, attempt: 1, seq: 1, step: step('kept'), at: 2100 }));
      await stores.store.write(failRun({ runId, attempt: 1, error: 'broken', deliveryIds: [], at: 2200 }));
      assert.deepEqual(await stores.store.write(retryRun({ id: runId, at: 6000 })), { kind: 'queued' });
      const { run } = await claim(6000);
      assert.equal(run?.id, runId);
      assert.equal(run?.error, undefined);
      assert.equal(run?.endedAt, undefined);
      assert.deepEqual(await stores.store.read(stepsOf({ id: runId })), [step('kept')]);
      const tooEarly = await stores.store.write(retryRun({ id: runId, at: 7000 }));
      assert.deepEqual(tooEarly, { kind: 'not_ended', state: 'running' });
      assert.deepEqual(await stores.store.write(retryRun({ id: 'nothing', at: 1 })), { kind: 'not_found' });
    });
  });

  describe('messages', () => {
    const at = 6000;
    let chats = 0;
    /** A run whose answer waits to be sent to two chats. */
    const answeredRun = async (): Promise<{ id: string; messages: Delivery[] }> => {
      await clear();
      const run = await enqueue({
        addresses: [1, 2].map((n) => ({ target: 'telegram', chatId: `${++chats}-${n}` })),
      });
      await claim(2000);
      await answer(run.id, 1, { deliveryIds: [`d1-${run.id}`, `d2-${run.id}`] });
      const messages = await stores.store.write(
        claimDeliveries({ owner: 'outbox', now: at, leaseMs: LEASE_MS, limit: 100, resting: [], probed: [] }),
      );
      return { id: run.id, messages: messages.filter(({ runId }) => runId === run.id) };
    };
    const end = (by: Store, message: Delivery | undefined, state: 'delivered' | 'dead') => {
      assert.ok(message);
      const { id, fence, partsSent } = message;
      return by.write(endAttempt({ id, fence, state, attempts: 1, partsSent, uncertain: false, at }));
    };

    test('every address gets the answer as a message', async () => {
      const { id, messages } = await answeredRun();
      assert.deepEqual(
        messages.map(({ id: messageId, text, runId }) => [messageId, text, runId]),
        [
          [`d1-${id}`, 'Hello.', id],
          [`d2-${id}`, 'Hello.', id],
        ],
      );
    });

    test('a run is delivered when its last message is', async () => {
      const { id, messages } = await answeredRun();
      await end(stores.store, messages[0], 'delivered');
      assert.equal(await stateOf(id), 'answered');
      await end(stores.store, messages[1], 'delivered');
      const run = await stores.store.read(getRun({ id }));
      assert.equal(run?.state, 'delivered');
      assert.equal(run?.endedAt, at);
    });

    test('two messages that end together in two processes end their run', async () => {
      for (let round = 0; round < 5; round += 1) {
        const { id, messages } = await answeredRun();
        await Promise.all([end(stores.store, messages[0], 'delivered'), end(stores.other, messages[1], 'delivered')]);
        assert.equal(await stateOf(id), 'delivered');
      }
    });

    test('a run with a dead message is dead, and trying it again sends only what did not arrive', async () => {
      const { id, messages } = await answeredRun();
      await end(stores.store, messages[0], 'delivered');
      await end(stores.store, messages[1], 'dead');
      assert.equal(await stateOf(id), 'dead');
      assert.deepEqual(await stores.store.write(retryRun({ id, at })), { kind: 'redelivering' });
      assert.equal(await stateOf(id), 'answered');
      const { deliveries } = await stores.store.read(listDeliveries({ runId: id, limit: 9 }));
      assert.deepEqual(deliveries.map(({ state }) => state).sort(), ['delivered', 'waiting']);
    });

    test('a failure is told to the addresses when the settings ask for that', async () => {
      await clear();
      const addresses = [{ target: 'log' }];
      const [loud, quiet] = [await enqueue({ addresses, reportFailure: true }), await enqueue({ addresses })];
      await claimAll(2000);
      for (const { id: runId } of [loud, quiet]) {
        const failure = { runId, attempt: 1, error: 'x', report: 'It failed.', deliveryIds: [`f-${runId}`], at };
        await stores.store.write(failRun(failure));
      }
      const told = async (id: string) =>
        (await stores.store.read(listDeliveries({ runId: id, limit: 9 }))).deliveries.length;
      assert.deepEqual([await told(loud.id), await told(quiet.id)], [1, 0]);
    });
  });

  test('whatever happens in whatever order, a run moves only along legal moves', async () => {
    const action = fc.constantFrom('claim', 'expire', 'renew', 'step', 'release', 'answer', 'fail', 'retry', 'cancel');
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 25 }), async (actions) => {
        await clear();
        const { id } = await enqueue({ maxRetries: 1 });
        let now = 10_000;
        let before = await stores.store.read(getRun({ id }));
        for (const name of actions) {
          now += name === 'expire' ? 2 * LEASE_MS : 1;
          const held = { runId: id, attempt: before?.attempt ?? 0, at: now };
          if (name === 'claim' || name === 'expire') await claim(now);
          if (name === 'renew') await stores.store.write(renewLease({ ...held, now, leaseMs: LEASE_MS }));
          if (name === 'step') await stores.store.write(recordStep({ ...held, seq: now, step: step('s') }));
          if (name === 'release') await stores.store.write(releaseRun(held));
          if (name === 'answer') await answer(id, held.attempt, { silent: now % 2 === 0 });
          if (name === 'fail')
            await stores.store.write(failRun({ ...held, error: 'x', retryAt: now, deliveryIds: [] }));
          if (name === 'retry') await stores.store.write(retryRun({ id, at: now }));
          if (name === 'cancel') await stores.store.write(cancelRun({ id, at: now }));
          const run = await stores.store.read(getRun({ id }));
          assert.ok(run && before);
          // One operation may make two moves: an answer that goes nowhere is answered and delivered at once.
          const reachable = LEGAL_MOVES[before.state].flatMap((state) => [state, ...LEGAL_MOVES[state]]);
          assert.ok(run.state === before.state || reachable.includes(run.state), `${before.state} to ${run.state}`);
          assert.ok(run.attempt >= before.attempt);
          assert.equal(run.owner !== undefined, run.state === 'running');
          assert.equal(run.endedAt !== undefined, isFinal(run.state));
          before = run;
        }
      }),
      { numRuns: 15 },
    );
  });

  describe('looking', () => {
    test('lists filter and go on where the last page ended, newest first', async () => {
      const source = { kind: 'job', name: 'paged' } as const;
      const runs = [];
      for (let n = 0; n < 5; n += 1) runs.push(await enqueue({ source, createdAt: 1000 + n }));
      const newestFirst = runs.map(({ id }) => id).reverse();
      const page = await stores.store.read(listRuns({ sourceKind: 'job', sourceName: 'paged', limit: 3 }));
      assert.deepEqual(
        page.runs.map(({ id }) => id),
        newestFirst.slice(0, 3),
      );
      const rest = await stores.store.read(listRuns({ sourceName: 'paged', limit: 3, cursor: page.next ?? '' }));
      assert.deepEqual(
        rest.runs.map(({ id }) => id),
        newestFirst.slice(3),
      );
      assert.equal(rest.next, undefined);
      const recent = await stores.store.read(listRuns({ sourceName: 'paged', since: 1004, state: 'queued', limit: 9 }));
      assert.deepEqual(
        recent.runs.map(({ id }) => id),
        newestFirst.slice(0, 1),
      );
    });

    test('counts are numbers by state', async () => {
      await clear();
      await enqueue();
      const counts = await stores.store.read(runCounts({}));
      assert.equal(counts.queued, 1);
      assert.equal(counts.running, undefined);
    });

    test('pruning removes what ended long ago, and nothing that is still open', async () => {
      await clear();
      const [old, open] = [await enqueue(), await enqueue()];
      const { run } = await claim(2000);
      assert.equal(run?.id, old.id);
      await stores.store.write(recordStep({ runId: old.id, attempt: 1, seq: 1, step: step('x'), at: 2100 }));
      await answer(old.id, 1);
      while ((await stores.store.write(pruneRuns({ before: 5000, limit: 1000 }))) > 0);
      assert.equal(await stateOf(old.id), 'delivered');
      assert.ok((await stores.store.write(pruneRuns({ before: 5001, limit: 1000 }))) > 0);
      assert.equal(await stateOf(old.id), undefined);
      assert.deepEqual(await stores.store.read(stepsOf({ id: old.id })), []);
      assert.equal(await stateOf(open.id), 'queued');
    });
  });
}
