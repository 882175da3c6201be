// 2,000 queued messages to a platform that takes 50 ms for each, in 10 chats: against bare loops that only send, with the
// same double on the same machine. Order per chat and memory are watched on the way.

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { configSchema } from '../src/config/schema.ts';
import { silentLog } from '../src/core/log.ts';
import { createDelivery } from '../src/delivery/deliver.ts';
import { startOutbox } from '../src/outbox/outbox.ts';
import { enqueueDelivery } from '../src/store/deliveries.ts';
import { openStore } from '../src/store/open.ts';
import { newId, realClock } from '../src/system/clock.ts';
import { createHttpCaller } from '../src/system/fetch-json.ts';
import { atLeast, atMost, lineOf, median, type Result } from './report.ts';

const ROUNDS = 5;
const QUEUED_PER_ROUND = 400;
const BARE_PER_ROUND = 200;
const CHATS = 10;
const ANSWER_MS = 50;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

export async function run(): Promise<Result[]> {
  const platform = await startPlatform();
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const queue = await openQueue(platform, folder);
  const rounds: { bare: number; queued: number; heap: number }[] = [];
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      // Side by side in time: what the machine does besides hits both.
      const bare = await bareRate(platform.url);
      const queued = await queue.rate();
      rounds.push({ bare, queued, heap: heapAfterCollection() });
    }
  } finally {
    await queue.close();
    platform.server.close();
    platform.server.closeAllConnections();
    rmSync(folder, { recursive: true });
  }
  const middle = (key: 'bare' | 'queued') => median(rounds.map((round) => round[key])).toFixed(0);
  const ideal = (CHATS * 1000) / ANSWER_MS;
  const rates = `${middle('queued')} messages/s, bare loops ${middle('bare')}, in theory ${ideal}, median of ${ROUNDS} rounds`;
  const [early = 0, late = 0] = [rounds[0]?.heap, rounds.at(-1)?.heap];
  const heap = `${(early / 2 ** 20).toFixed(1)} MB after the first round, ${(late / 2 ** 20).toFixed(1)} MB after the last`;
  const total = ROUNDS * QUEUED_PER_ROUND;
  return [
    atLeast(0.8, {
      name: `${total} queued messages in ${CHATS} chats`,
      value: median(rounds.map(({ queued, bare }) => queued / bare)),
      detail: rates,
    }),
    atMost(0, { name: 'messages out of order', value: queue.outOfOrder(), unit: '', detail: `${CHATS} chats` }),
    atMost(1.25, { name: 'memory after the last round against the first', value: late / early, detail: heap }),
  ];
}

interface Platform {
  url: string;
  server: Server;
  onMessage(see: (chat: string, text: string) => void): void;
}

async function startPlatform(): Promise<Platform> {
  let see: (chat: string, text: string) => void = () => {};
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      body += part;
    });
    request.on('end', () => {
      const { chat_id, text } = JSON.parse(body) as { chat_id: string; text: string };
      see(chat_id, text);
      setTimeout(() => {
        response.setHeader('content-type', 'application/json');
        response.end('{"ok":true,"result":{"message_id":1}}');
      }, ANSWER_MS);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    server,
    onMessage: (next) => {
      see = next;
    },
  };
}

/** Messages per second of one loop per chat that does nothing but send. */
async function bareRate(url: string): Promise<number> {
  const http = createHttpCaller();
  const start = performance.now();
  const loop = async (chat: number): Promise<void> => {
    for (let n = 0; n < BARE_PER_ROUND / CHATS; n += 1) {
      const json = { chat_id: String(chat), text: 'bare' };
      await http.call({ method: 'POST', url, json, timeoutMs: 30_000 });
    }
  };
  await Promise.all(Array.from({ length: CHATS }, (_, chat) => loop(chat)));
  const seconds = (performance.now() - start) / 1000;
  await http.close();
  return BARE_PER_ROUND / seconds;
}

async function openQueue(platform: Platform, folder: string) {
  const store = await openStore({ file: join(folder, 'svc.db') }, { mode: 'threaded' });
  const { platforms } = configSchema.parse({
    platforms: { telegram: { enabled: true, token: 'token', extra: { base_url: platform.url } } },
  });
  const options = { allowPrivate: true, log: silentLog, now: realClock.now, deliveriesFolder: folder, env: {} };
  const deliverer = createDelivery({ platforms, ...options });
  const outboxOptions = { store, deliverer, clock: realClock, log: silentLog, owner: 'bench', concurrency: CHATS };
  const last = new Map<string, number>();
  let outOfOrder = 0;
  let made = 0;
  return {
    outOfOrder: () => outOfOrder,
    /** Messages per second of one round, from the start of the outbox to the last arrival. */
    async rate(): Promise<number> {
      const writes = Array.from({ length: QUEUED_PER_ROUND }, () => {
        made += 1;
        const address = { target: 'telegram', chatId: String(made % CHATS) };
        const text = `message ${made}`;
        return store.write(enqueueDelivery({ id: newId('dlv'), source: 'bench', address, text, createdAt: 0 }));
      });
      await Promise.all(writes);
      let arrived = 0;
      const { promise: all, resolve: done } = Promise.withResolvers<void>();
      platform.onMessage((chat, text) => {
        const number = Number(text.split(' ')[1]);
        if (number < (last.get(chat) ?? 0)) outOfOrder += 1;
        last.set(chat, number);
        arrived += 1;
        if (arrived === QUEUED_PER_ROUND) done();
      });
      const start = performance.now();
      const outbox = startOutbox({ ...outboxOptions, keepMs: 1e12 });
      await all;
      const seconds = (performance.now() - start) / 1000;
      await outbox.stop();
      platform.onMessage(() => {});
      return QUEUED_PER_ROUND / seconds;
    },
    async close(): Promise<void> {
      await deliverer.close();
      await store.close();
    },
  };
}

function heapAfterCollection(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

if (import.meta.main) for (const result of await run()) console.log(lineOf(result));
