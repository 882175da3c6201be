// The outbox process is killed twenty times in the middle of 500 messages. None may be lost; a platform with an
// idempotency key shows each once, one without may show what was on its way at a kill again.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { deliveryCounts, enqueueDelivery } from '../../src/store/deliveries.ts';
import { openStore } from '../../src/store/open.ts';
import { newId } from '../../src/system/clock.ts';
import { startNode } from '../support/child.ts';
import { type SeenRequest, startHttpDouble } from '../support/http-double.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { until } from '../support/until.ts';

const MESSAGES = 500;
const KILLS = 20;
const CHATS = 20;
const CONCURRENCY = 16;

const textOf = ({ json }: SeenRequest): string => {
  const { text, body } = json as { text?: string; body?: string };
  return text ?? body ?? '';
};

test('twenty kills in the middle of 500 messages lose none', { timeout: 300_000 }, async (t) => {
  const file = join(tempFolder(), 'svc.db');
  const rooms = new Map<string, string>();
  await using double = await startHttpDouble((request) => {
    const delayMs = 15;
    if (request.method !== 'PUT') return { delayMs, json: { ok: true, result: { message_id: 1 } } };
    // As the Matrix specification has it: the same transaction id is the same event.
    rooms.set(request.path, textOf(request));
    return { delayMs, json: { event_id: '$1' } };
  });
  const store = await openStore({ file }, { mode: 'inline' });
  for (let n = 0; n < MESSAGES; n += 1) {
    const chat = n % CHATS;
    const address =
      chat % 2 === 0 ? { target: 'telegram', chatId: `${chat}` } : { target: 'matrix', chatId: `!${chat}:example.org` };
    await store.write(
      enqueueDelivery({ id: newId('dlv'), source: 't', address, text: `message ${n}`, createdAt: Date.now() }),
    );
  }

  const perRound = Math.floor((MESSAGES * 0.9) / KILLS);
  for (let round = 1; round <= KILLS; round += 1) {
    const seen = double.requests.length;
    const child = startNode([join(import.meta.dirname, '../support/outbox-child.ts'), file, double.url]);
    // Each kill falls at another moment of sending and recording.
    await until(() => double.requests.length >= seen + perRound);
    await new Promise((resolve) => setTimeout(resolve, (round * 7) % 30));
    await child.kill();
  }
  const open = async () => {
    const { waiting = 0, sending = 0 } = await store.read(deliveryCounts({}));
    return waiting + sending;
  };
  assert.ok((await open()) > 0, 'the last kill came in the middle');
  const last = startNode([join(import.meta.dirname, '../support/outbox-child.ts'), file, double.url]);
  await until(async () => (await open()) === 0);
  await last.kill();

  const telegram = double.requests.filter((request) => request.method === 'POST').map(textOf);
  const arrived = new Set([...telegram, ...rooms.values()]);
  assert.equal(arrived.size, MESSAGES);
  assert.equal(rooms.size, MESSAGES / 2);
  assert.deepEqual(await store.read(deliveryCounts({})), { delivered: MESSAGES });
  const duplicates = telegram.length - MESSAGES / 2;
  t.diagnostic(`${duplicates} of ${MESSAGES / 2} messages came twice where the platform has no idempotency key`);
  assert.ok(duplicates <= KILLS * CONCURRENCY);
  for (let chat = 0; chat < CHATS; chat += 1) {
    const numbers = double.requests
      .map((request) => Number(textOf(request).split(' ')[1]))
      .filter((n) => n % CHATS === chat);
    const first = numbers.filter((n, index) => numbers.indexOf(n) === index);
    assert.deepEqual(
      first,
      first.toSorted((a, b) => a - b),
      `the order of chat ${chat}`,
    );
  }
  await store.close();
});
