// The rules of the outbox table, on both databases.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { newRun } from '../../test/support/new-run.ts';
import { freshDatabase, withoutPostgres } from '../../test/support/postgres.ts';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { type Address, parseAddresses } from '../core/address.ts';
import { deliveryCounts, enqueueDelivery, getDelivery, listDeliveries } from './deliveries.ts';
import { openStore } from './open.ts';
import {
  claimDeliveries,
  dropDelivery,
  type EndedAttempt,
  endAttempt,
  nextDue,
  pruneDeliveries,
  recordPart,
  renewDeliveries,
  retryDelivery,
} from './outbox.ts';
import { claimRun, storeAnswer } from './run-claims.ts';
import { enqueueRun, getRun } from './runs.ts';
import type { Store } from './store.ts';

const LEASE_MS = 10_000;
let made = 0;

function outboxRules(name: string, open: () => Promise<Store>): void {
  describe(`the outbox in ${name}`, () => {
    let store: Store;
    before(async () => {
      store = await open();
    });
    after(() => store.close());

    const to = (text: string): Address => {
      const parsed = parseAddresses(text);
      assert.ok(parsed.kind === 'ok' && parsed.addresses[0]);
      return parsed.addresses[0];
    };
    const add = async (address: string, createdAt = 0): Promise<string> => {
      made += 1;
      const id = `dlv_${String(made).padStart(6, '0')}`;
      await store.write(enqueueDelivery({ id, source: 'test', address: to(address), text: 'hi', createdAt }));
      return id;
    };
    const claim = (now: number, changes: { limit?: number; resting?: string[]; probed?: string[] } = {}) =>
      store.write(
        claimDeliveries({ owner: 'a', now, leaseMs: LEASE_MS, limit: 100, resting: [], probed: [], ...changes }),
      );
    const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id);
    const end = (delivery: { id: string; fence: number }, changes: Partial<EndedAttempt> = {}) =>
      store.write(
        endAttempt({
          id: delivery.id,
          fence: delivery.fence,
          state: 'delivered',
          attempts: 0,
          partsSent: 0,
          uncertain: false,
          at: 50,
          ...changes,
        }),
      );
    const clear = async (): Promise<void> => {
      for (let now = 1e12; ; now += 2 * LEASE_MS) {
        const rows = await claim(now);
        if (rows.length === 0) return;
        for (const row of rows) await end(row);
      }
    };

    test('only the oldest message of a chat is taken, and messages without a chat all at once', async () => {
      const first = await add('telegram:1');
      await add('messenger_1:1');
      const elsewhere = await add('telegram:1:7');
      const logs = [await add('log'), await add('log')];
      assert.deepEqual(idsOf(await claim(10)), [first, elsewhere, ...logs]);
      assert.deepEqual(idsOf(await claim(10)), []);
      await clear();
    });

    test('a message that waits for its next attempt holds up its chat; a dead one does not', async () => {
      const first = await add('slack:C1');
      const second = await add('slack:C1');
      const [row] = await claim(10);
      assert.ok(row?.id === first);
      await end(row, { state: 'waiting', nextAttemptAt: 5000, attempts: 1, lastError: 'busy' });
      assert.deepEqual(await claim(4000), []);
      assert.equal(await store.read(nextDue({})), 0);
      const [again] = await claim(5000);
      assert.ok(again?.id === first && again.attempts === 1 && again.lastError === 'busy');
      await end(again, { state: 'dead', attempts: 2 });
      assert.deepEqual(idsOf(await claim(5000)), [second]);
      await clear();
    });

    test('whoever lost its lease can no longer write, and the one who took over knows that it may have arrived', async () => {
      const id = await add('discord:12345');
      const [held] = await claim(10);
      assert.ok(held && !held.uncertain);
      await store.write(renewDeliveries({ held: [held], leaseUntil: 30_000 }));
      assert.deepEqual(await claim(29_000), []);
      assert.equal(await store.read(nextDue({})), 30_000);
      const [taken] = await claim(30_001);
      assert.ok(taken?.id === id && taken.uncertain && taken.fence === held.fence + 1);
      assert.equal(await store.write(recordPart({ id, fence: held.fence, partsSent: 3, leaseUntil: 0 })), false);
      assert.equal(await end(held), false);
      assert.equal(await store.write(recordPart({ id, fence: taken.fence, partsSent: 2, leaseUntil: 60_000 })), true);
      assert.equal(await end(taken, { partsSent: 2, receipt: 'r', note: 'n', uncertain: true }), true);
      const stored = await store.read(getDelivery({ id }));
      assert.equal(stored?.state, 'delivered');
      assert.deepEqual([stored?.receipt, stored?.note, stored?.partsSent, stored?.endedAt], ['r', 'n', 2, 50]);
    });

    test('targets that rest are left alone, and of one that is tried out a single message is taken', async () => {
      const rested = await add('email:a@b.c');
      const one = await add('sms:+491511234567');
      const two = await add('sms:+491511234568');
      assert.deepEqual(idsOf(await claim(10, { resting: ['email'], probed: ['sms'] })), [one]);
      assert.deepEqual(idsOf(await claim(10)), [rested, two]);
      await clear();
    });

    test('a run ends with its last message: delivered when all arrived, dead otherwise', async () => {
      for (const ends of ['delivered', 'dead'] as const) {
        const run = newRun({ addresses: [to('telegram:5'), to('log')] });
        await store.write(enqueueRun(run));
        const claimed = await store.write(claimRun({ owner: 'w', now: 2000, leaseMs: LEASE_MS, after: '' }));
        assert.ok(claimed.run?.id === run.id);
        made += 2;
        const deliveryIds = [`dlv_${String(made - 1).padStart(6, '0')}`, `dlv_${String(made).padStart(6, '0')}`];
        const answer = {
          runId: run.id,
          attempt: claimed.run.attempt,
          answer: 'yes',
          silent: false,
          deliveryIds,
          at: 2000,
        };
        await store.write(storeAnswer(answer));
        const [first, second] = await claim(2000);
        assert.ok(first && second);
        await end(first);
        assert.equal((await store.read(getRun({ id: run.id })))?.state, 'answered');
        await end(second, { state: ends });
        assert.equal((await store.read(getRun({ id: run.id })))?.state, ends);
        if (ends === 'delivered') continue;
        assert.deepEqual(await store.write(retryDelivery({ id: second.id, at: 3000 })), { kind: 'done' });
        assert.equal((await store.read(getRun({ id: run.id })))?.state, 'answered');
        const [retried] = await claim(3000);
        assert.ok(retried?.id === second.id && retried.attempts === 0);
        await end(retried);
        assert.equal((await store.read(getRun({ id: run.id })))?.state, 'delivered');
      }
    });

    test('a person can give a message up or send it again, but not while it is on its way', async () => {
      const id = await add('matrix:!r:example.org');
      const [held] = await claim(10);
      assert.ok(held);
      assert.deepEqual(await store.write(dropDelivery({ id, at: 20 })), { kind: 'wrong_state', state: 'sending' });
      assert.deepEqual(await store.write(retryDelivery({ id, at: 20 })), { kind: 'wrong_state', state: 'sending' });
      await end(held, { state: 'dead' });
      assert.deepEqual(await store.write(dropDelivery({ id, at: 30 })), { kind: 'done' });
      assert.equal((await store.read(getDelivery({ id })))?.state, 'dropped');
      assert.deepEqual(await store.write(retryDelivery({ id, at: 40 })), { kind: 'done' });
      assert.equal((await store.read(getDelivery({ id })))?.state, 'waiting');
      assert.deepEqual(await store.write(dropDelivery({ id: 'dlv_none', at: 1 })), { kind: 'not_found' });
      await clear();
    });

    test('messages are listed newest first, page by page, and counted by state', async () => {
      const ids = [await add('ntfy:a', 10), await add('ntfy:b', 11), await add('ntfy:c', 12)];
      const page = await store.read(listDeliveries({ target: 'ntfy', state: 'waiting', limit: 2 }));
      assert.deepEqual(idsOf(page.deliveries), [ids[2], ids[1]]);
      const rest = await store.read(listDeliveries({ target: 'ntfy', limit: 2, cursor: page.next ?? '' }));
      assert.deepEqual(idsOf(rest.deliveries), [ids[0]]);
      const counts = await store.read(deliveryCounts({}));
      assert.equal(counts.waiting, 3);
      await clear();
      assert.ok((await store.write(pruneDeliveries({ before: 1e15 }))) > 0);
      assert.equal(await store.read(getDelivery({ id: ids[0] ?? '' })), undefined);
    });

    test('two processes that claim at once never take the same message or the same chat', async () => {
      const rival = await open();
      try {
        for (let chat = 0; chat < 20; chat += 1) for (let n = 0; n < 3; n += 1) await add(`slack:R${chat}`);
        const input = { owner: 'x', now: 10, leaseMs: LEASE_MS, limit: 6, resting: [], probed: [] };
        const batches = await Promise.all(
          [store, rival, store, rival, store, rival].map((each) => each.write(claimDeliveries(input))),
        );
        const taken = batches.flat();
        const chats = taken.map(({ address }) => address.chatId);
        assert.equal(taken.length, 20);
        assert.equal(new Set(chats).size, 20);
        await clear();
      } finally {
        await rival.close();
      }
    });
  });
}

const file = join(tempFolder(), 'svc.db');
outboxRules('SQLite', () => openStore({ file }, { mode: 'inline' }));

describe('with PostgreSQL', { skip: withoutPostgres }, () => {
  let url: Promise<string> | undefined;
  outboxRules('PostgreSQL', async () => {
    url ??= freshDatabase();
    return openStore({ url: await url }, { mode: 'inline' });
  });
});
