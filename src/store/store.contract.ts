// What every store must do, as tests. Each implementation runs this suite with its own way to open a fresh database.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { newRun } from '../../test/support/new-run.ts';
import { storeFixture, type TwoStores } from '../../test/support/store-fixture.ts';
import { eventsContract } from './events.contract.ts';
import { runClaimsContract } from './run-claims.contract.ts';
import { runsContract } from './runs.contract.ts';
import { enqueueRun, getRun, runCounts } from './runs.ts';
import type { Store } from './store.ts';

/** Opens the same fresh database each time it is called, as another process would. */
export type OpenAgain = () => Promise<Store>;

export function storeContract(name: string, freshDatabase: () => Promise<OpenAgain>): void {
  describe(`${name} keeps the promises of a store`, () => {
    const stores = {} as TwoStores;
    before(async () => {
      const open = await freshDatabase();
      // Both find the database empty: migrations must bear being started twice at once.
      [stores.store, stores.other] = await Promise.all([open(), open()]);
    });
    after(async () => {
      await stores.store.close();
      await stores.other.close();
    });
    const fixture = storeFixture(stores);
    const { enqueue, stateOf, claim, answer, clear } = fixture;

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
        assert.deepEqual(await stores.store.read(getRun({ id: run.id })), expected);
        assert.deepEqual(await stores.other.read(getRun({ id: run.id })), expected);
      });

      test('an unknown run is undefined', async () => {
        assert.equal(await stores.store.read(getRun({ id: 'nothing' })), undefined);
      });

      test('operations written together succeed or fail alone', async () => {
        const [first, second] = [newRun(), newRun()];
        const results = await Promise.allSettled([
          stores.store.write(enqueueRun(first)),
          stores.store.write(enqueueRun(first)),
          stores.store.write(enqueueRun(second)),
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
        const kept = await stores.store.read(getRun({ id: run.id }));
        assert.equal(kept?.state, 'running');
        assert.equal(kept?.answer, undefined);
      });

      test('a reading operation cannot write', async () => {
        const run = newRun();
        await assert.rejects(stores.store.read(enqueueRun(run)), { code: 'store_unavailable' });
        assert.equal(await stateOf(run.id), undefined);
      });

      test('any text comes back as it was, except that NUL becomes a visible sign', async () => {
        const text = fc.string({ unit: 'grapheme', maxLength: 200 });
        await fc.assert(
          fc.asyncProperty(text, async (prompt) => {
            const run = await enqueue({ prompt, serialKey: `${prompt}.` });
            const read = await stores.store.read(getRun({ id: run.id }));
            assert.equal(read?.prompt, prompt.replaceAll('\0', '\u2400'));
          }),
          { numRuns: 30, examples: [['a\0b'], ["'; DROP TABLE runs; --"], ['$1 ?1 :a @b'], ['😀\u2028\ufeff']] },
        );
      });

      test('a lone surrogate is replaced, not refused', async () => {
        const run = await enqueue({ prompt: 'a\ud800b' });
        assert.equal((await stores.store.read(getRun({ id: run.id })))?.prompt, 'a\ufffdb');
      });

      test('a megabyte of text is kept whole', async () => {
        const prompt = 'é'.repeat(2 ** 20);
        const run = await enqueue({ prompt });
        assert.equal((await stores.other.read(getRun({ id: run.id })))?.prompt, prompt);
      });
    });

    runClaimsContract(fixture);
    eventsContract(stores);
    runsContract(fixture);

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
