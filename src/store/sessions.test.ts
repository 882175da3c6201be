// Chat sessions on both stores.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { freshDatabase, withoutPostgres } from '../../test/support/postgres.ts';
import type { SessionEntry } from '../core/session.ts';
import { openStore } from './open.ts';
import {
  appendToSession,
  deliverToSession,
  hasUnshown,
  keepSession,
  listSessions,
  readSession,
  takeUnshown,
} from './sessions.ts';
import type { Store } from './store.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-sessions-'));
});
after(() => rm(folder, { recursive: true, force: true }));

describe('sessions in SQLite', () => suite(() => openStore({ file: join(folder, 'svc.db') }, { mode: 'inline' })));
describe('sessions in PostgreSQL', { skip: withoutPostgres }, () => {
  let url: string | undefined;
  suite(async () => {
    url ??= await freshDatabase();
    return openStore({ url }, { mode: 'inline' });
  });
});

function suite(open: () => Promise<Store>): void {
  let store: Store;
  let other: Store;
  before(async () => {
    store = await open();
    other = await open();
  });
  after(async () => {
    await store.close();
    await other.close();
  });

  const prompt = (text: string) => ({ kind: 'prompt', text }) as const;
  const said = (sessionId: string, text: string, at: number) =>
    store.write(appendToSession({ sessionId, entries: [prompt(text)], at }));

  test('a session begins with its first entry, named after it, and keeps the order', async () => {
    await said('chat_a', '  What is\n the time? ', 10);
    const usage = { inputTokens: 1, outputTokens: 2 };
    const answer: SessionEntry = { kind: 'model', text: 'Noon.', toolCalls: [], usage };
    await store.write(appendToSession({ sessionId: 'chat_a', entries: [answer], at: 20 }));
    const found = await other.read(readSession({ sessionId: 'chat_a' }));
    assert.deepEqual(found?.session, { id: 'chat_a', title: 'What is the time?', createdAt: 10, updatedAt: 20 });
    assert.deepEqual(
      found?.entries.map(({ seq, entry }) => [seq, entry.kind]),
      [
        [1, 'prompt'],
        [2, 'model'],
      ],
    );
    assert.deepEqual(found?.entries[1]?.entry, answer);
  });

  test('the newest session comes first', async () => {
    await said('chat_b', 'older', 100);
    await said('chat_c', 'newer', 200);
    await said('chat_b', 'again', 300);
    const list = await store.read(listSessions({ limit: 2 }));
    assert.deepEqual(
      list.map((session) => session.id),
      ['chat_b', 'chat_c'],
    );
  });

  test('what is delivered waits until it is taken, and comes once however often it is tried', async () => {
    await said('chat_d', 'hello', 1);
    const message = { sessionId: 'chat_d', key: 'dlv_1', text: 'done', source: 'job_1', at: 2 };
    assert.equal(await other.write(deliverToSession(message)), true);
    assert.equal(await other.write(deliverToSession(message)), true);
    assert.equal(await store.read(hasUnshown({ sessionId: 'chat_d' })), true);
    const taken = await store.write(takeUnshown({ sessionId: 'chat_d' }));
    assert.deepEqual(
      taken.map(({ entry }) => entry),
      [{ kind: 'delivered', text: 'done', source: 'job_1' }],
    );
    assert.equal(await store.read(hasUnshown({ sessionId: 'chat_d' })), false);
    assert.deepEqual(await store.write(takeUnshown({ sessionId: 'chat_d' })), []);
  });

  test('a session can be kept before anything is said, and is not changed by being kept again', async () => {
    await store.write(keepSession({ sessionId: 'chat_k', title: '/cron create', at: 1 }));
    await store.write(keepSession({ sessionId: 'chat_k', title: 'other', at: 2 }));
    const message = { sessionId: 'chat_k', key: 'dlv_k', text: 'x', source: 'y', at: 3 };
    assert.equal(await store.write(deliverToSession(message)), true);
    const found = await store.read(readSession({ sessionId: 'chat_k' }));
    assert.deepEqual([found?.session.title, found?.entries.length], ['/cron create', 1]);
  });

  test('nothing is delivered to a session that does not exist', async () => {
    const message = { sessionId: 'chat_none', key: 'dlv_2', text: 'x', source: 'y', at: 1 };
    assert.equal(await store.write(deliverToSession(message)), false);
    assert.equal(await store.read(readSession({ sessionId: 'chat_none' })), undefined);
  });

  test('two processes that add at the same time lose nothing', async () => {
    await said('chat_e', 'first', 1);
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 ? store : other).write(
          deliverToSession({ sessionId: 'chat_e', key: `dlv_e${index}`, text: `${index}`, source: 's', at: 2 }),
        ),
      ),
    );
    const found = await store.read(readSession({ sessionId: 'chat_e' }));
    assert.deepEqual(
      found?.entries.map(({ seq }) => seq),
      Array.from({ length: 21 }, (_, index) => index + 1),
    );
  });
}
