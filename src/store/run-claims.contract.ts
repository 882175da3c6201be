// How runs are claimed, kept and lost, in every store.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LEASE_MS, type StoreFixture, step } from '../../test/support/store-fixture.ts';
import { claimRun, failRun, recordStep, releaseRun, renewLease, storeAnswer } from './run-claims.ts';
import { stepsOf } from './runs.ts';
import type { Store } from './store.ts';

export function runClaimsContract({ stores, enqueue, stateOf, claim, claimAll, answer, clear }: StoreFixture): void {
  describe('claiming', () => {
    test('the oldest run of a queue starts first, with a lease and a new fencing number', async () => {
      await clear();
      const [first, second] = [await enqueue(), await enqueue()];
      const { run } = await claim(2000);
      assert.equal(run?.id, first.id);
      assert.equal(run?.attempt, 1);
      assert.equal(run?.owner, 'worker');
      assert.equal(run?.leaseUntil, 2000 + LEASE_MS);
      assert.equal(run?.startedAt, 2000);
      assert.equal((await claim(2000)).run?.id, second.id);
      assert.equal((await claim(2000)).run, undefined);
    });

    test('a run does not start before its time', async () => {
      await clear();
      const run = await enqueue({ availableAt: 9000 });
      assert.equal((await claim(8999)).run, undefined);
      assert.equal((await claim(9000)).run?.id, run.id);
    });

    test('sources take turns, so that a flood of one does not starve the others', async () => {
      await clear();
      const flood = { source: { kind: 'webhook', name: 'flood' } } as const;
      const [a, b, c] = [await enqueue(flood), await enqueue(flood), await enqueue(flood)];
      const quiet = await enqueue({ source: { kind: 'webhook', name: 'quiet' } });
      assert.deepEqual(await claimAll(2000), [a.id, quiet.id, b.id, c.id]);
    });

    test('a full limit holds back its own key only', async () => {
      await clear();
      const limited = { limit: { key: 'two', max: 2 } };
      const [a, b, c] = [await enqueue(limited), await enqueue(limited), await enqueue(limited)];
      const free = await enqueue();
      assert.deepEqual((await claimAll(2000)).sort(), [a.id, b.id, free.id].sort());
      await answer(a.id, 1);
      assert.equal((await claim(2000)).run?.id, c.id);
    });

    test('runs with one serial key run one after another in order, whatever their source', async () => {
      await clear();
      const first = await enqueue({ serialKey: 'k', source: { kind: 'webhook', name: 'z' }, maxRetries: 1 });
      const second = await enqueue({ serialKey: 'k', source: { kind: 'webhook', name: 'a' } });
      assert.deepEqual(await claimAll(2000), [first.id]);
      // It waits for its second try; the other must not overtake it.
      const failure = { runId: first.id, error: 'rate limit', deliveryIds: [], at: 2500 };
      await stores.store.write(failRun({ ...failure, attempt: 1, retryAt: 60_000 }));
      assert.deepEqual(await claimAll(3000), []);
      assert.deepEqual(await claimAll(60_000), [first.id]);
      await answer(first.id, 2);
      assert.deepEqual(await claimAll(60_000), [second.id]);
    });

    test('many claimers in two processes take every run exactly once and keep limits and serial keys', async () => {
      await clear();
      const runs = await Promise.all([
        ...Array.from({ length: 24 }, () => enqueue()),
        ...Array.from({ length: 12 }, () => enqueue({ limit: { key: 'three', max: 3 } })),
        ...Array.from({ length: 12 }, (_, index) => enqueue({ serialKey: `s${index % 2}` })),
      ]);
      const serial = runs.filter(({ serialKey }) => serialKey !== undefined).map(({ id }) => id);
      const seen: string[] = [];
      const running = new Map<string, number>();
      const count = (key: string, by: number): number => {
        const now = (running.get(key) ?? 0) + by;
        running.set(key, now);
        return now;
      };
      const worker = async (by: Store, owner: string): Promise<void> => {
        for (let cursor = '', idle = 0; idle < 20; ) {
          const { run, after: next } = await by.write(claimRun({ owner, now: 2000, leaseMs: LEASE_MS, after: cursor }));
          cursor = next;
          if (!run) {
            idle += seen.length === runs.length ? 20 : 0;
            await new Promise((resolve) => setTimeout(resolve, 2));
            continue;
          }
          seen.push(run.id);
          if (run.limit) assert.ok(count(run.limit.key, 1) <= run.limit.max, 'more than the limit are running');
          if (run.serialKey) assert.equal(count(run.serialKey, 1), 1, 'two runs of one serial key are running');
          await new Promise((resolve) => setTimeout(resolve, 3));
          if (run.limit) count(run.limit.key, -1);
          if (run.serialKey) count(run.serialKey, -1);
          const input = { runId: run.id, attempt: run.attempt, answer: '', silent: true, deliveryIds: [], at: 3000 };
          assert.ok(await by.write(storeAnswer(input)));
        }
      };
      await Promise.all([0, 1, 2, 3, 4, 5].map((n) => worker(n % 2 ? stores.store : stores.other, `w${n}`)));
      assert.deepEqual(seen.toSorted(), runs.map(({ id }) => id).sort());
      for (const parity of [0, 1]) {
        const mine = serial.filter((_, index) => index % 2 === parity);
        assert.deepEqual(
          seen.filter((id) => mine.includes(id)),
          mine,
        );
      }
    });
  });

  describe('leases and fencing', () => {
    test('a run is taken over when its lease has run out, and not before', async () => {
      await clear();
      const run = await enqueue();
      await claim(2000);
      assert.equal((await claim(2000 + LEASE_MS)).run, undefined);
      const taken = await claim(2001 + LEASE_MS, stores.other);
      assert.equal(taken.run?.id, run.id);
      assert.equal(taken.run?.attempt, 2);
      assert.equal(taken.run?.startedAt, 2000);
      assert.equal(taken.takeovers, 1);
    });

    test('a renewed lease is not taken over', async () => {
      await clear();
      const run = await enqueue();
      await claim(2000);
      const renewal = { runId: run.id, attempt: 1, now: 10_000, leaseMs: LEASE_MS };
      assert.deepEqual(await stores.store.write(renewLease(renewal)), { kind: 'held', cancelRequested: false });
      assert.equal((await claim(2001 + LEASE_MS)).run, undefined);
      assert.equal((await claim(10_001 + LEASE_MS)).run?.id, run.id);
    });

    test('a worker that lost its lease can write nothing more', async () => {
      await clear();
      const { id: runId } = await enqueue();
      await claim(2000);
      await claim(2001 + LEASE_MS, stores.other);
      const old = { runId, attempt: 1, at: 30_000 };
      assert.deepEqual(await stores.store.write(renewLease({ ...old, now: 30_000, leaseMs: LEASE_MS })), {
        kind: 'lost',
      });
      assert.equal(await stores.store.write(recordStep({ ...old, seq: 1, step: step('old') })), false);
      assert.equal(await stores.store.write(releaseRun(old)), false);
      assert.equal(await answer(runId, 1), undefined);
      assert.equal(await stores.store.write(failRun({ ...old, error: 'x', retryAt: 1, deliveryIds: [] })), undefined);
      assert.equal(await stores.store.write(failRun({ ...old, error: 'x', deliveryIds: [] })), undefined);
      assert.equal(await stateOf(runId), 'running');
      assert.deepEqual(await stores.store.read(stepsOf({ id: runId })), []);
      assert.ok(await answer(runId, 2));
    });

    test('a released run goes on with another worker from its recorded steps', async () => {
      await clear();
      const { id: runId } = await enqueue();
      await claim(2000);
      for (const seq of [1, 2]) {
        assert.equal(
          await stores.store.write(recordStep({ runId, attempt: 1, seq, step: step(`s${seq}`), at: 2100 })),
          true,
        );
      }
      // The acknowledgement may have been lost: the same step again changes nothing.
      assert.equal(
        await stores.store.write(recordStep({ runId, attempt: 1, seq: 2, step: step('s2'), at: 2200 })),
        true,
      );
      assert.equal(await stores.store.write(releaseRun({ runId, attempt: 1, at: 2300 })), true);
      const { run, takeovers } = await claim(2300, stores.other);
      assert.equal(run?.attempt, 2);
      assert.equal(takeovers, 0);
      assert.deepEqual(await stores.other.read(stepsOf({ id: runId })), [step('s1'), step('s2')]);
    });
  });
}
