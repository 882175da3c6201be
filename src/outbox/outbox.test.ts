import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fastClock } from '../../test/support/fast-clock.ts';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { until } from '../../test/support/until.ts';
import type { Address } from '../core/address.ts';
import { silentLog } from '../core/log.ts';
import type { Deliverer, DeliveryOutcome, OutgoingMessage } from '../delivery/deliver.ts';
import { type Delivery, enqueueDelivery, getDelivery } from '../store/deliveries.ts';
import { openStore } from '../store/open.ts';
import { retryDelivery } from '../store/outbox.ts';
import type { Store } from '../store/store.ts';
import { type Outbox, startOutbox } from './outbox.ts';

type Act = (
  message: OutgoingMessage,
  signal: AbortSignal,
  onPart: (sent: number) => Promise<void>,
) => Promise<DeliveryOutcome>;

interface Room extends AsyncDisposable {
  store: Store;
  outbox: Outbox;
  /** Ids in the order in which their attempts began. */
  begun: string[];
  send(id: string, chatId: string, target?: string): Promise<void>;
  ended(id: string): Promise<Delivery>;
}

const SPEED = 500;
const ok: DeliveryOutcome = { kind: 'delivered' };

async function openRoom(
  act: Act,
  options: { concurrency?: number; speed?: number; file?: string } = {},
): Promise<Room> {
  const clock = fastClock(options.speed ?? SPEED);
  const store = await openStore({ file: options.file ?? join(tempFolder(), 'svc.db') }, { mode: 'inline' });
  const begun: string[] = [];
  const deliverer: Deliverer = {
    problem: () => undefined,
    attempt: (message, signal, onPart) => {
      begun.push(message.id);
      return act(message, signal, onPart ?? (async () => {}));
    },
  };
  const outbox = startOutbox({
    store,
    deliverer,
    clock,
    log: silentLog,
    owner: 'test',
    concurrency: options.concurrency ?? 8,
    keepMs: 1e9,
  });
  return {
    store,
    outbox,
    begun,
    async send(id, chatId, target = 'telegram') {
      const address: Address = { target, chatId };
      await store.write(enqueueDelivery({ id, source: 'test', address, text: id, createdAt: clock.now() }));
      outbox.wake();
    },
    ended: (id) =>
      until(async () => {
        const delivery = await store.read(getDelivery({ id }));
        return delivery?.endedAt !== undefined && delivery;
      }),
    async [Symbol.asyncDispose]() {
      await outbox.stop();
      await store.close();
    },
  };
}

test('a message that fails is tried again on schedule until it arrives, and later ones of its chat wait for it', async () => {
  let failures = 3;
  await using room = await openRoom(async ({ id }) =>
    id === 'dlv_1' && failures-- > 0 ? { kind: 'failed', reason: 'busy', partsSent: 0 } : ok,
  );
  await room.send('dlv_1', 'a');
  await room.send('dlv_2', 'a');
  await room.send('dlv_3', 'b');
  const first = await room.ended('dlv_1');
  await room.ended('dlv_2');
  assert.equal(first.state, 'delivered');
  assert.equal(first.attempts, 4);
  assert.deepEqual(
    room.begun.filter((id) => id !== 'dlv_3'),
    ['dlv_1', 'dlv_1', 'dlv_1', 'dlv_1', 'dlv_2'],
  );
  assert.ok(room.begun.indexOf('dlv_3') < 3);
});

test('a refused message is dead at once, keeps its reason, and lets the next one pass', async () => {
  await using room = await openRoom(async ({ id }) =>
    id === 'dlv_1' ? { kind: 'refused', reason: 'no such chat', partsSent: 0 } : ok,
  );
  await room.send('dlv_1', 'a');
  await room.send('dlv_2', 'a');
  const dead = await room.ended('dlv_1');
  assert.deepEqual([dead.state, dead.lastError], ['dead', 'no such chat']);
  assert.equal((await room.ended('dlv_2')).state, 'delivered');
  await room.store.write(retryDelivery({ id: 'dlv_1', at: 0 }));
  room.outbox.wake();
  await until(() => room.begun.filter((id) => id === 'dlv_1').length === 2);
});

test('a message that never gets through is dead after six attempts, and a platform that is down is left alone', async () => {
  await using room = await openRoom(async () => ({ kind: 'failed', reason: 'down', partsSent: 0 }), { speed: 20_000 });
  await room.send('dlv_1', 'a');
  const dead = await room.ended('dlv_1');
  assert.deepEqual([dead.state, dead.attempts, room.begun.length], ['dead', 6, 6]);
});

test('what other processes put into the store is found without being woken', async () => {
  await using room = await openRoom(async () => ok);
  const address = { target: 'log' };
  await room.store.write(enqueueDelivery({ id: 'dlv_9', source: 'x', address, text: 'hi', createdAt: 0 }));
  assert.equal((await room.ended('dlv_9')).state, 'delivered');
});

test('no more messages are on their way than allowed', async () => {
  let now = 0;
  let most = 0;
  await using room = await openRoom(
    async () => {
      now += 1;
      most = Math.max(most, now);
      await new Promise((resolve) => setTimeout(resolve, 10));
      now -= 1;
      return ok;
    },
    { concurrency: 3 },
  );
  for (let n = 10; n < 40; n += 1) await room.send(`dlv_${n}`, `chat${n}`);
  for (let n = 10; n < 40; n += 1) await room.ended(`dlv_${n}`);
  assert.equal(most, 3);
});

test('a long text goes on after the parts that were sent', async () => {
  const starts: number[] = [];
  await using room = await openRoom(async ({ partsSent }, _signal, onPart) => {
    starts.push(partsSent);
    if (partsSent > 0) return ok;
    await onPart(1);
    await onPart(2);
    return { kind: 'failed', reason: 'limit', partsSent: 2 };
  });
  await room.send('dlv_1', 'a');
  await room.ended('dlv_1');
  assert.deepEqual(starts, [0, 2]);
});

test('stopping interrupts what hangs, gives it back uncertain and uncounted, and another process sends it', async () => {
  const file = join(tempFolder(), 'svc.db');
  const hanging: Act = (_message, signal) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve({ kind: 'unknown', reason: 'stopped', partsSent: 0 }));
    });
  const room = await openRoom(hanging, { file });
  await room.send('dlv_1', 'a');
  await until(() => room.begun.length === 1);
  await room[Symbol.asyncDispose]();
  await using second = await openRoom(async () => ok, { file });
  const delivery = await second.ended('dlv_1');
  assert.deepEqual([delivery.state, delivery.uncertain, delivery.attempts], ['delivered', true, 1]);
});

test('the messages of a platform that does not answer wait, those of others do not', async () => {
  let down = true;
  await using room = await openRoom(async ({ address }) =>
    down && address.target === 'slack' ? { kind: 'unknown', reason: 'timeout', partsSent: 0 } : ok,
  );
  for (let n = 10; n < 30; n += 1) await room.send(`dlv_${n}`, `chat${n}`, 'slack');
  await until(() => room.begun.length >= 5);
  await room.send('dlv_40', 'a');
  assert.equal((await room.ended('dlv_40')).state, 'delivered');
  down = false;
  for (let n = 10; n < 30; n += 1) assert.equal((await room.ended(`dlv_${n}`)).state, 'delivered');
});
