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
import { atLeast, atMost, lineOf, type Result } from './report.ts';

const MESSAGES = 2000;
const BASELINE_MESSAGES = 400;
const CHATS = 10;
const ANSWER_MS = 50;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

export async function run(): Promise<Result[]> {
  const platform = await startPlatform();
  try {
    const bareBefore = await bareRate(platform.url);
    const queued = await queuedRate(platform);
    const bareAfter = await bareRate(platform.url);
    const bare = (bareBefore + bareAfter) / 2;
    const ideal = (CHATS * 1000) / ANSWER_MS;
    const detail = `${queued.rate.toFixed(0)} messages/s, bare loops ${bare.toFixed(0)}, in theory ${ideal.toFixed(0)}`;
    const { early, late } = queued.heap;
    const heap = `${(early / 2 ** 20).toFixed(1)} MB after a quarter, ${(late / 2 ** 20).toFixed(1)} MB at the end`;
    return [
      atLeast(0.8, { name: `${MESSAGES} queued messages in ${CHATS} chats`, value: queued.rate / bare, detail }),
      atMost(0, { name: 'messages out of order', value: queued.outOfOrder, unit: '', detail: `${CHATS} chats` }),
      atMost(1.25, { name: 'memory at the end against a quarter of the way', value: late / early, detail: heap }),
    ];
  } finally {
    platform.server.close();
    platform.server.closeAllConnections();
  }
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
    for (let n = 0; n < BASELINE_MESSAGES / CHATS; n += 1) {
      const json = { chat_id: String(chat), text: `message ${n}` };
      await http.call({ method: 'POST', url, json, timeoutMs: 30_000 });
    }
  };
  await Promise.all(Array.from({ length: CHATS }, (_, chat) => loop(chat)));
  const seconds = (performance.now() - start) / 1000;
  await http.close();
  return BASELINE_MESSAGES / seconds;
}

async function queuedRate(platform: Platform) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const store = await openStore({ file: join(folder, 'svc.db') }, { mode: 'threaded' });
  const writes = Array.from({ length: MESSAGES }, (_, n) => {
    const address = { target: 'telegram', chatId: String(n % CHATS) };
    const id = newId('dlv');
    return store.write(enqueueDelivery({ id, source: 'bench', address, text: `message ${n}`, createdAt: Date.now() }));
  });
  await Promise.all(writes);

  const seen = new Map<string, number>();
  const heap = { early: 0, late: 0 };
  let outOfOrder = 0;
  let arrived = 0;
  const { promise: all, resolve: done } = Promise.withResolvers<void>();
  platform.onMessage((chat, text) => {
    const number = Number(text.split(' ')[1]);
    if (number < (seen.get(chat) ?? -1)) outOfOrder += 1;
    seen.set(chat, number);
    arrived += 1;
    if (arrived === MESSAGES / 4) heap.early = heapAfterCollection();
    if (arrived === MESSAGES) done();
  });
  const { platforms } = configSchema.parse({
    platforms: { telegram: { enabled: true, token: 'token', extra: { base_url: platform.url } } },
  });
  const options = { allowPrivate: true, log: silentLog, now: realClock.now, deliveriesFolder: folder, env: {} };
  const deliverer = createDelivery({ platforms, ...options });
  const start = performance.now();
  const outbox = startOutbox({
    store,
    deliverer,
    clock: realClock,
    log: silentLog,
    owner: 'bench',
    concurrency: CHATS,
    keepMs: 1e12,
  });
  await all;
  const seconds = (performance.now() - start) / 1000;
  heap.late = heapAfterCollection();
  await outbox.stop();
  await deliverer.close();
  await store.close();
  rmSync(folder, { recursive: true });
  return { rate: MESSAGES / seconds, outOfOrder, heap };
}

function heapAfterCollection(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

if (import.meta.main) for (const result of await run()) console.log(lineOf(result));
