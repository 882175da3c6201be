// What every store must do, as tests. Each implementation runs this suite with its own way to open a fresh database.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { newRun, type RunChanges } from '../../test/support/new-run.ts';
import { isFinal, LEGAL_MOVES, type NewRun, type RunState } from '../core/run.ts';
import type { Step } from '../core/step.ts';
import { type Delivery, listDeliveries } from './deliveries.ts';
import { claimDeliveries, endAttempt } from './outbox.ts';
import { claimRun, failRun, recordStep, releaseRun, renewLease, storeAnswer } from './run-claims.ts';
import { cancelRun, enqueueRun, getRun, listRuns, pruneRuns, retryRun, runCounts, stepsOf } from './runs.ts';
import type { Store } from './store.ts';

/** Opens the same fresh database each time it is called, as another process would. */
export type OpenAgain = () => Promise<Store>;

const LEASE_MS = 15_000;
const step = (callId: string): Step => ({ kind: 'tool_started', callId });

export function storeContract(name: string, freshDatabase: () => Promise<OpenAgain>): void {
  describe(`${name} keeps the promises of a store`, () => {
    let store: Store;
    let other: Store;

    before(async () => {
      const open = await freshDatabase();
      // Both find the database empty: migrations must bear being started twice at once.
      [store, other] = await Promise.all([open(), open()]);
    });
    after(async () => {
      await store.close();
      await other.close();
    });

    const enqueue = async (changes: RunChanges = {}): Promise<NewRun> => {
      const run = newRun(changes);
      await store.write(enqueueRun(run));
      return run;
    };
    const stateOf = async (id: string): Promise<RunState | undefined> => (await store.read(getRun({ id })))?.state;
    const claim = async (now: number, by: Store = store, claimAfter = '') =>
      by.write(claimRun({ owner: 'worker', now, leaseMs: LEASE_MS, after: claimAfter }));
    /** Claims until nothing more may start. */
    const claimAll = async (now: number): Promise<string[]> => {
      const ids: string[] = [];
      for (let cursor = ''; ; ) {
        const { run, after: next } = await claim(now, store, cursor);
        if (!run) return ids;
        ids.push(run.id);
        cursor = next;
      }
    };
    const answer = (id: string, attempt: number, changes: { silent?: boolean; deliveryIds?: string[] } = {}) =>
      store.write(
        storeAnswer({ runId: id, attempt, answer: 'Hello.', silent: false, deliveryIds: [], at: 5000, ...changes }),
      );
    const clear = async (): Promise<void> => {
      for (const state of ['running', 'queued'] as const) {
        const { runs } = await store.read(listRuns({ state, limit: 1000 }));
        for (const { id, attempt } of runs) {
          if (state === 'queued') await store.write(cancelRun({ id, at: 1 }));
          else await store.write(failRun({ runId: id, attempt, error: 'cleared', deliveryIds: [], at: 1 }));
        }
      }
    };

    describe('writing and reading', () => {
      test('a run reads back as it was queued, here and in another process', async () => {
        const run = await enqueue({
          source: { kind: 'webhook', name: 'issues', ref: 'evt_1' },
          addresses: [{ target: 'telegram', chatId: '5', extra: { subject: 'ü' } }],
          limit: { key: 'issues', max: 2 },
          serialKey: 'repo',
          availableAt: 2000,
        });
        const expected = { ...run, state: 'queued', attempt: 0, retries: 0, cancelRequested: false };
        assert.deepEqual(await store.read(getRun({ id: run.id })), expected);
        assert.deepEqual(await other.read(getRun({ id: run.id })), expected);
      });

      test('an unknown run is undefined', async () => {
        assert.equal(await store.read(getRun({ id: 'nothing' })), undefined);
      });

      test('operations written together succeed or fail alone', async () => {
        const [first, second] = [newRun(), newRun()];
        const results = await Promise.allSettled([
          store.write(enqueueRun(first)),
          store.write(enqueueRun(first)),
          store.write(enqueueRun(second)),
        ]);
        assert.deepEqual(
          results.map(({ status }) => status),
          ['fulfilled', 'rejected', 'fulfilled'],
        );
        assert.equal(results[1]?.status === 'rejected' && results[1].reason.code, 'conflict');
        assert.equal(await stateOf(second.id), 'queued');
      });

      test('an operation that fails in the middle leaves nothing behind', async () => {
        await clear();
        const run = await enqueue({ addresses: [{ target: 'log' }, { target: 'local' }] });
        const claimed = await claim(2000);
        await assert.rejects(answer(run.id, claimed.run?.attempt ?? 0, { deliveryIds: [`d-${run.id}`] }));
        const kept = await store.read(getRun({ id: run.id }));
        assert.equal(kept?.state, 'running');
        assert.equal(kept?.answer, undefined);
      });

      test('a reading operation cannot write', async () => {
        const run = newRun();
        await assert.rejects(store.read(enqueueRun(run)), { code: 'store_unavailable' });
        assert.equal(await stateOf(run.id), undefined);
      });

      test('any text comes back as it was, except that NUL becomes a visible sign', async () => {
        const text = fc.string({ unit: 'grapheme', maxLength: 200 });
        await fc.assert(
          fc.asyncProperty(text, async (prompt) => {
            const run = await enqueue({ prompt, serialKey: `${prompt}.` });
            const read = await store.read(getRun({ id: run.id }));
            assert.equal(read?.prompt, prompt.replaceAll('\0', '\u2400'));
          }),
          { numRuns: 30, examples: [['a\0b'], ["'; DROP TABLE runs; --"], ['$1 ?1 :a @b'], ['😀\u2028\ufeff']] },
        );
      });

      test('a lone surrogate is replaced, not refused', async () => {
        const run = await enqueue({ prompt: 'a\ud800b' });
        assert.equal((await store.read(getRun({ id: run.id })))?.prompt, 'a\ufffdb');
      });

      test('a megabyte of text is kept whole', async () => {
        const prompt = 'é'.repeat(2 ** 20);
        const run = await enqueue({ prompt });
        assert.equal((await other.read(getRun({ id: run.id })))?.prompt, prompt);
      });
    });

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
        await store.write(failRun({ ...failure, attempt: 1, retryAt: 60_000 }));
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
            const { run, after: next } = await by.write(
              claimRun({ owner, now: 2000, leaseMs: LEASE_MS, after: cursor }),
            );
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
        await Promise.all([0, 1, 2, 3, 4, 5].map((n) => worker(n % 2 ? store : other, `w${n}`)));
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
        const taken = await claim(2001 + LEASE_MS, other);
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
        assert.deepEqual(await store.write(renewLease(renewal)), { kind: 'held', cancelRequested: false });
        assert.equal((await claim(2001 + LEASE_MS)).run, undefined);
        assert.equal((await claim(10_001 + LEASE_MS)).run?.id, run.id);
      });

      test('a worker that lost its lease can write nothing more', async () => {
        await clear();
        const { id: runId } = await enqueue();
        await claim(2000);
        await claim(2001 + LEASE_MS, other);
        const old = { runId, attempt: 1, at: 30_000 };
        assert.deepEqual(await store.write(renewLease({ ...old, now: 30_000, leaseMs: LEASE_MS })), { kind: 'lost' });
        assert.equal(await store.write(recordStep({ ...old, seq: 1, step: step('old') })), false);
        assert.equal(await store.write(releaseRun(old)), false);
        assert.equal(await answer(runId, 1), undefined);
        assert.equal(await store.write(failRun({ ...old, error: 'x', retryAt: 1, deliveryIds: [] })), undefined);
        assert.equal(await store.write(failRun({ ...old, error: 'x', deliveryIds: [] })), undefined);
        assert.equal(await stateOf(runId), 'running');
        assert.deepEqual(await store.read(stepsOf({ id: runId })), []);
        assert.ok(await answer(runId, 2));
      });

      test('a released run goes on with another worker from its recorded steps', async () => {
        await clear();
        const { id: runId } = await enqueue();
        await claim(2000);
        for (const seq of [1, 2]) {
          assert.equal(
            await store.write(recordStep({ runId, attempt: 1, seq, step: step(`s${seq}`), at: 2100 })),
            true,
          );
        }
        // The acknowledgement may have been lost: the same step again changes nothing.
        assert.equal(await store.write(recordStep({ runId, attempt: 1, seq: 2, step: step('s2'), at: 2200 })), true);
        assert.equal(await store.write(releaseRun({ runId, attempt: 1, at: 2300 })), true);
        const { run, takeovers } = await claim(2300, other);
        assert.equal(run?.attempt, 2);
        assert.equal(takeovers, 0);
        assert.deepEqual(await other.read(stepsOf({ id: runId })), [step('s1'), step('s2')]);
      });
    });

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
        assert.equal((await store.write(failRun({ ...failure, attempt: 1 })))?.state, 'queued');
        assert.equal((await claim(7999)).run, undefined);
        assert.equal((await claim(8000)).run?.retries, 1);
        const failed = await store.write(failRun({ ...failure, attempt: 2 }));
        assert.equal(failed?.state, 'failed');
        assert.equal(failed?.error, 'the server is away');
        assert.equal(failed?.endedAt, 3000);
      });

      test('cancelling ends a queued run, asks a running one and comes too late for an ended one', async () => {
        await clear();
        const [queued, running] = [await enqueue({ serialKey: 'c' }), await enqueue()];
        await store.write(cancelRun({ id: queued.id, at: 2000 }));
        await claim(2000);
        assert.equal(await stateOf(queued.id), 'failed');
        assert.deepEqual(await other.write(cancelRun({ id: running.id, at: 2000 })), { kind: 'requested' });
        const renewal = { runId: running.id, attempt: 1, now: 2100, leaseMs: LEASE_MS };
        assert.deepEqual(await store.write(renewLease(renewal)), { kind: 'held', cancelRequested: true });
        await store.write(failRun({ runId: running.id, attempt: 1, error: 'Cancelled.', deliveryIds: [], at: 2200 }));
        const late = await store.write(cancelRun({ id: running.id, at: 2300 }));
        assert.deepEqual(late, { kind: 'too_late', state: 'failed' });
        assert.deepEqual(await store.write(cancelRun({ id: 'nothing', at: 1 })), { kind: 'not_found' });
      });

      test('a failed run that is tried again starts afresh but keeps its steps', async () => {
        await clear();
        const { id: runId } = await enqueue();
        await claim(2000);
        await store.write(recordStep({ runId, attempt: 1, seq: 1, step: step('kept'), at: 2100 }));
        await store.write(failRun({ runId, attempt: 1, error: 'broken', deliveryIds: [], at: 2200 }));
        assert.deepEqual(await store.write(retryRun({ id: runId, at: 6000 })), { kind: 'queued' });
        const { run } = await claim(6000);
        assert.equal(run?.id, runId);
        assert.equal(run?.error, undefined);
        assert.equal(run?.endedAt, undefined);
        assert.deepEqual(await store.read(stepsOf({ id: runId })), [step('kept')]);
        const tooEarly = await store.write(retryRun({ id: runId, at: 7000 }));
        assert.deepEqual(tooEarly, { kind: 'not_ended', state: 'running' });
        assert.deepEqual(await store.write(retryRun({ id: 'nothing', at: 1 })), { kind: 'not_found' });
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
        const messages = await store.write(
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
        await end(store, messages[0], 'delivered');
        assert.equal(await stateOf(id), 'answered');
        await end(store, messages[1], 'delivered');
        const run = await store.read(getRun({ id }));
        assert.equal(run?.state, 'delivered');
        assert.equal(run?.endedAt, at);
      });

      test('two messages that end together in two processes end their run', async () => {
        for (let round = 0; round < 5; round += 1) {
          const { id, messages } = await answeredRun();
          await Promise.all([end(store, messages[0], 'delivered'), end(other, messages[1], 'delivered')]);
          assert.equal(await stateOf(id), 'delivered');
        }
      });

      test('a run with a dead message is dead, and trying it again sends only what did not arrive', async () => {
        const { id, messages } = await answeredRun();
        await end(store, messages[0], 'delivered');
        await end(store, messages[1], 'dead');
        assert.equal(await stateOf(id), 'dead');
        assert.deepEqual(await store.write(retryRun({ id, at })), { kind: 'redelivering' });
        assert.equal(await stateOf(id), 'answered');
        const { deliveries } = await store.read(listDeliveries({ runId: id, limit: 9 }));
        assert.deepEqual(deliveries.map(({ state }) => state).sort(), ['delivered', 'waiting']);
      });

      test('a failure is told to the addresses when the settings ask for that', async () => {
        await clear();
        const addresses = [{ target: 'log' }];
        const [loud, quiet] = [await enqueue({ addresses, reportFailure: true }), await enqueue({ addresses })];
        await claimAll(2000);
        for (const { id: runId } of [loud, quiet]) {
          const failure = { runId, attempt: 1, error: 'x', report: 'It failed.', deliveryIds: [`f-${runId}`], at };
          await store.write(failRun(failure));
        }
        const told = async (id: string) =>
          (await store.read(listDeliveries({ runId: id, limit: 9 }))).deliveries.length;
        assert.deepEqual([await told(loud.id), await told(quiet.id)], [1, 0]);
      });
    });

    test('whatever happens in whatever order, a run moves only along legal moves', async () => {
      const action = fc.constantFrom(
        'claim',
        'expire',
        'renew',
        'step',
        'release',
        'answer',
        'fail',
        'retry',
        'cancel',
      );
      await fc.assert(
        fc.asyncProperty(fc.array(action, { maxLength: 25 }), async (actions) => {
          await clear();
          const { id } = await enqueue({ maxRetries: 1 });
          let now = 10_000;
          let before = await store.read(getRun({ id }));
          for (const name of actions) {
            now += name === 'expire' ? 2 * LEASE_MS : 1;
            const held = { runId: id, attempt: before?.attempt ?? 0, at: now };
            if (name === 'claim' || name === 'expire') await claim(now);
            if (name === 'renew') await store.write(renewLease({ ...held, now, leaseMs: LEASE_MS }));
            if (name === 'step') await store.write(recordStep({ ...held, seq: now, step: step('s') }));
            if (name === 'release') await store.write(releaseRun(held));
            if (name === 'answer') await answer(id, held.attempt, { silent: now % 2 === 0 });
            if (name === 'fail') await store.write(failRun({ ...held, error: 'x', retryAt: now, deliveryIds: [] }));
            if (name === 'retry') await store.write(retryRun({ id, at: now }));
            if (name === 'cancel') await store.write(cancelRun({ id, at: now }));
            const run = await store.read(getRun({ id }));
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
        const page = await store.read(listRuns({ sourceKind: 'job', sourceName: 'paged', limit: 3 }));
        assert.deepEqual(
          page.runs.map(({ id }) => id),
          newestFirst.slice(0, 3),
        );
        const rest = await store.read(listRuns({ sourceName: 'paged', limit: 3, cursor: page.next ?? '' }));
        assert.deepEqual(
          rest.runs.map(({ id }) => id),
          newestFirst.slice(3),
        );
        assert.equal(rest.next, undefined);
        const recent = await store.read(listRuns({ sourceName: 'paged', since: 1004, state: 'queued', limit: 9 }));
        assert.deepEqual(
          recent.runs.map(({ id }) => id),
          newestFirst.slice(0, 1),
        );
      });

      test('counts are numbers by state', async () => {
        await clear();
        await enqueue();
        const counts = await store.read(runCounts({}));
        assert.equal(counts.queued, 1);
        assert.equal(counts.running, undefined);
      });

      test('pruning removes what ended long ago, and nothing that is still open', async () => {
        await clear();
        const [old, open] = [await enqueue(), await enqueue()];
        const { run } = await claim(2000);
        assert.equal(run?.id, old.id);
        await store.write(recordStep({ runId: old.id, attempt: 1, seq: 1, step: step('x'), at: 2100 }));
        await answer(old.id, 1);
        while ((await store.write(pruneRuns({ before: 5000, limit: 1000 }))) > 0);
        assert.equal(await stateOf(old.id), 'delivered');
        assert.ok((await store.write(pruneRuns({ before: 5001, limit: 1000 }))) > 0);
        assert.equal(await stateOf(old.id), undefined);
        assert.deepEqual(await store.read(stepsOf({ id: old.id })), []);
        assert.equal(await stateOf(open.id), 'queued');
      });
    });

    test('a closed store finishes what was queued, refuses more, and may be closed twice', async () => {
      const open = await freshDatabase();
      const closing = await open();
      const runs = Array.from({ length: 50 }, () => newRun());
      const written = Promise.all(runs.map((run) => closing.write(enqueueRun(run))));
      await Promise.all([closing.close(), closing.close()]);
      await written;
      await assert.rejects(closing.write(enqueueRun(newRun())), { code: 'store_unavailable' });
      await assert.rejects(closing.read(runCounts({})), { code: 'store_unavailable' });
      const again = await open();
      assert.equal((await again.read(runCounts({}))).queued, 50);
      await again.close();
    });
  });
}
