// What every store must do with webhook events.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newRun } from '../../test/support/new-run.ts';
import type { TwoStores } from '../../test/support/store-fixture.ts';
import {
  type Acceptance,
  acceptEvent,
  getEvent,
  giveUpPending,
  listEvents,
  type NewEvent,
  pruneEvents,
  recordEvent,
  replayEvent,
  settleEvent,
} from './events.ts';
import { getRun } from './runs.ts';

const HOUR_MS = 3_600_000;
const START = 1_800_000_000_000;
let made = 0;

function newEvent(changes: Partial<NewEvent> = {}): NewEvent {
  made++;
  return {
    id: `evt_${String(made).padStart(8, '0')}`,
    route: `route${made}`,
    event: 'push',
    deliveryId: 'd',
    verdict: 'accepted',
    receivedAt: START,
    headers: '{}',
    body: '{"a":1}',
    ...changes,
  };
}

const acceptance = (event: NewEvent, changes: Partial<Acceptance> = {}): Acceptance => ({
  event,
  deliveryKey: `${event.route}/${event.deliveryId}`,
  rateLimit: 30,
  ...changes,
});

export function eventsContract(stores: TwoStores): void {
  describe('webhook events', () => {
    const accept = (event: NewEvent, changes?: Partial<Acceptance>) =>
      stores.store.write(acceptEvent(acceptance(event, changes)));

    test('an event is stored together with its run, and both read back', async () => {
      const event = newEvent({ body: '{"text":"ü 😀"}', headers: '{"x-a":"b"}' });
      const run = newRun({ source: { kind: 'webhook', name: event.route, ref: event.id } });
      assert.deepEqual(await accept(event, { run }), { kind: 'stored' });
      const { bytes, ...stored } = (await stores.other.read(getEvent({ id: event.id }))) ?? { bytes: 0 };
      assert.deepEqual(stored, { ...event, runId: run.id, runState: 'queued' });
      assert.ok(bytes > event.body.length);
      assert.equal((await stores.other.read(getRun({ id: run.id })))?.prompt, run.prompt);
    });

    test('the same key within the hour is a duplicate and leaves no run; one after the hour is stored', async () => {
      const event = newEvent();
      await accept(event);
      const run = newRun();
      const again = { ...event, id: newEvent().id };
      assert.deepEqual(await accept({ ...again, receivedAt: START + HOUR_MS - 1 }, { run }), {
        kind: 'duplicate',
        sameBody: true,
      });
      assert.deepEqual(await accept({ ...again, body: '2' }), { kind: 'duplicate', sameBody: false });
      assert.equal(await stores.store.read(getRun({ id: run.id })), undefined);
      assert.deepEqual(await accept({ ...again, receivedAt: START + HOUR_MS }, { run }), { kind: 'stored' });
      assert.equal((await stores.store.read(listEvents({ route: event.route, limit: 9 }))).length, 2);
    });

    test('of many copies at once, from two processes, exactly one is stored', async () => {
      const { route } = newEvent();
      const copies = Array.from({ length: 40 }, (_, index) => {
        const store = index % 2 === 0 ? stores.store : stores.other;
        return store.write(acceptEvent(acceptance(newEvent({ route }), { rateLimit: 100 })));
      });
      const kinds = (await Promise.all(copies)).map(({ kind }) => kind);
      assert.equal(kinds.filter((kind) => kind === 'stored').length, 1);
      assert.equal(kinds.filter((kind) => kind === 'duplicate').length, 39);
    });

    test('the rate limit is a window per route; what it refuses is not stored and takes no id', async () => {
      const { route } = newEvent();
      const at = (receivedAt: number, deliveryId: string) =>
        accept(newEvent({ route, receivedAt, deliveryId }), { rateLimit: 3 });
      for (const id of ['1', '2', '3']) assert.equal((await at(START + 1000, id)).kind, 'stored');
      assert.deepEqual(await at(START + 21_000, '4'), { kind: 'rate_limited', retryAfterMs: 40_000 });
      assert.equal((await at(START + 21_000, '1')).kind, 'duplicate');
      assert.equal((await stores.store.read(listEvents({ route, limit: 9 }))).length, 3);
      assert.equal((await at(START + 61_000, '4')).kind, 'stored');
      assert.equal((await accept(newEvent({ receivedAt: START + 21_000 }), { rateLimit: 3 })).kind, 'stored');
    });

    test('the rate limit holds for two processes at once, and a clock set far back opens a new window', async () => {
      const { route } = newEvent();
      const sent = Array.from({ length: 30 }, (_, index) => {
        const event = newEvent({ route, deliveryId: String(index) });
        return (index % 2 === 0 ? stores.store : stores.other).write(acceptEvent(acceptance(event, { rateLimit: 10 })));
      });
      assert.equal((await Promise.all(sent)).filter(({ kind }) => kind === 'stored').length, 10);
      const earlier = newEvent({ route, deliveryId: 'earlier', receivedAt: START - HOUR_MS });
      assert.equal((await accept(earlier, { rateLimit: 10 })).kind, 'stored');
    });

    test('an equal body is a duplicate where bodies count, whatever the id', async () => {
      const { route } = newEvent();
      const bodyKey = `${route}/digest`;
      assert.equal((await accept(newEvent({ route, deliveryId: '1' }), { bodyKey })).kind, 'stored');
      assert.equal((await accept(newEvent({ route, deliveryId: '2' }), { bodyKey })).kind, 'duplicate');
    });

    test('a failed delivery gives its id back, and so does one that a crash interrupted', async () => {
      const event = newEvent({ verdict: 'pending' });
      await accept(event);
      await stores.store.write(settleEvent({ id: event.id, verdict: 'failed', reason: 'no', release: true }));
      const second = newEvent({ verdict: 'pending', route: event.route });
      assert.equal((await accept(second)).kind, 'stored');
      assert.equal(await stores.store.write(giveUpPending({ before: START })), 0);
      assert.ok((await stores.store.write(giveUpPending({ before: START + 1 }))) >= 1);
      const third = newEvent({ verdict: 'pending', route: event.route });
      assert.equal((await accept(third)).kind, 'stored');
      const verdicts = (await stores.store.read(listEvents({ route: event.route, limit: 9 }))).map(
        ({ verdict }) => verdict,
      );
      assert.deepEqual(verdicts, ['pending', 'unknown', 'failed']);
    });

    test('an event that starts nothing is kept without taking an id or budget', async () => {
      const event = newEvent({ verdict: 'ignored' });
      await stores.store.write(recordEvent(event));
      assert.equal((await accept(newEvent({ route: event.route }), { rateLimit: 1 })).kind, 'stored');
    });

    test('a replay points the event to its new run', async () => {
      const event = newEvent({ verdict: 'filtered' });
      await stores.store.write(recordEvent(event));
      const run = newRun();
      assert.equal(await stores.store.write(replayEvent({ eventId: event.id, run })), true);
      const stored = await stores.store.read(getEvent({ id: event.id }));
      assert.deepEqual([stored?.verdict, stored?.runId, stored?.runState], ['accepted', run.id, 'queued']);
      assert.equal(await stores.store.write(replayEvent({ eventId: 'nothing', run: newRun() })), false);
    });

    test('old events go by age and by size, oldest first, but never while their id still counts', async () => {
      const now = START + 100 * HOUR_MS;
      const body = JSON.stringify('x'.repeat(1000));
      const { route } = newEvent();
      for (let index = 0; index < 6; index++)
        await accept(newEvent({ route, deliveryId: String(index), receivedAt: now - (5.5 - index) * HOUR_MS, body }));
      const removeAll = async (limits: { olderThan: number; maxBytes: number }) => {
        while ((await stores.store.write(pruneEvents({ now, ...limits }))) > 0);
        return (await stores.store.read(listEvents({ route, limit: 9 }))).map(({ deliveryId }) => deliveryId);
      };
      assert.deepEqual(await removeAll({ olderThan: now - 4 * HOUR_MS, maxBytes: 1e9 }), ['5', '4', '3', '2']);
      assert.deepEqual(await removeAll({ olderThan: 0, maxBytes: 4000 }), ['5', '4', '3']);
      assert.deepEqual(await removeAll({ olderThan: now, maxBytes: 0 }), ['5']);
    });
  });
}
