// kill -9 under load: what was acknowledged is there afterwards, once.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sendTo } from '../support/gateway.ts';
import { createSvcHome } from '../support/svc.ts';
import { until } from '../support/until.ts';

const CLIENTS = 16;
const homes: ReturnType<typeof createSvcHome>[] = [];
after(() => Promise.all(homes.map((home) => home.remove())));

const child = resolve(import.meta.dirname, '../support/webhook-child.ts');

interface Tally {
  /** Answered 200 accepted. */
  acknowledged: Set<string>;
  /** Sent, but no answer came. */
  open: Set<string>;
}

async function startReceiver(home: string, mode: string): Promise<{ process: ChildProcess; url: string }> {
  const process_ = spawn(process.execPath, [child, home, mode], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(process_.stdout, 'data')) as [Buffer];
  return { process: process_, url: line.toString().trim() };
}

/** Sends from many clients until the server is gone. */
async function load(url: string, tally: Tally, round: string): Promise<void> {
  const client = async (number: number): Promise<void> => {
    for (let count = 0; ; count++) {
      const id = `${round}-${number}-${count}`;
      tally.open.add(id);
      try {
        const { status, json } = await sendTo(url, { id, body: { number, count } });
        assert.equal(status, 200);
        assert.equal(json.status, 'accepted');
        tally.open.delete(id);
        tally.acknowledged.add(id);
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
}

async function storedIds(home: ReturnType<typeof createSvcHome>): Promise<Map<string, number>> {
  const { stdout, code, stderr } = await home.svc(['webhook', 'events', '--route', 'a', '--limit', '100000', '--json']);
  assert.equal(code, 0, stderr);
  const counts = new Map<string, number>();
  for (const event of JSON.parse(stdout) as { delivery_id: string; verdict: string; run_id: string | null }[]) {
    assert.equal(event.verdict, 'accepted');
    assert.ok(event.run_id, `${event.delivery_id} has a run`);
    counts.set(event.delivery_id, (counts.get(event.delivery_id) ?? 0) + 1);
  }
  return counts;
}

async function crashRounds(
  home: ReturnType<typeof createSvcHome>,
  mode: string,
  rounds: number,
  tally: Tally,
  name: string,
) {
  for (let round = 0; round < rounds; round++) {
    const receiver = await startReceiver(home.path, mode);
    const before = tally.acknowledged.size;
    const loading = load(`${receiver.url}/webhooks/a`, tally, `${name}${round}`);
    await until(() => tally.acknowledged.size >= before + 10 + ((round * 13) % 60));
    await delay((round * 7) % 20);
    receiver.process.kill('SIGKILL');
    await loading;
  }
}

test('50 times kill -9 under load: no acknowledged event is lost, none is accepted twice, every id is accounted for', async () => {
  const home = createSvcHome();
  homes.push(home);
  home.configure(
    'platforms:\n  webhook:\n    enabled: true\n    extra:\n      host: 127.0.0.1\n      secret: a-secret-for-tests\n      rate_limit: 1000000\n      routes:\n        a: { prompt: Hi }\nruns: { concurrency: 0 }\n',
  );
  const tally: Tally = { acknowledged: new Set(), open: new Set() };
  await crashRounds(home, 'honest', 44, tally, 'r');
  for (let round = 0; round < 6; round++) {
    const gateway = await home.startGateway();
    const before = tally.acknowledged.size;
    const loading = load(`${gateway.url}/webhooks/a`, tally, `g${round}`);
    await until(() => tally.acknowledged.size >= before + 30);
    await delay(round * 3);
    await gateway.end('SIGKILL');
    await loading;
  }
  assert.ok(tally.acknowledged.size > 1000, `only ${tally.acknowledged.size} requests`);

  // Senders try again what got no answer: it is taken now, or it was already.
  const gateway = await home.startGateway();
  for (const id of tally.open) {
    const { json } = await sendTo(`${gateway.url}/webhooks/a`, { id, body: {} });
    assert.ok(json.status === 'accepted' || json.status === 'duplicate');
  }
  for (const id of [...tally.acknowledged].slice(-20)) {
    const { json } = await sendTo(`${gateway.url}/webhooks/a`, { id, body: {} });
    assert.equal(json.status, 'duplicate', id);
  }
  const stored = await storedIds(home);
  const lost = [...tally.acknowledged, ...tally.open].filter((id) => !stored.has(id));
  assert.deepEqual(lost, []);
  assert.deepEqual(
    [...stored].filter(([, count]) => count > 1),
    [],
  );
  assert.equal(stored.size, tally.acknowledged.size + tally.open.size);
});

test('the same test sees the loss when a gateway answers before it has stored', async () => {
  const home = createSvcHome();
  homes.push(home);
  const tally: Tally = { acknowledged: new Set(), open: new Set() };
  let lost: string[] = [];
  for (let round = 0; round < 20 && lost.length === 0; round++) {
    await crashRounds(home, 'early', 1, tally, `e${round}-`);
    const stored = await storedIds(home);
    lost = [...tally.acknowledged].filter((id) => !stored.has(id));
  }
  assert.ok(lost.length > 0);
});
