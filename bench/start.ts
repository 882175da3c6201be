// How long a command takes to begin, against an empty Node script in the same rounds; what an idle gateway costs.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { installPacked } from '../test/support/packed.ts';
import { createSvcHome } from '../test/support/svc.ts';
import { atMost, median, type Result } from './report.ts';

const ROUNDS = 21;
const SETTLE_MS = 5_000;
const WATCH_MS = 12_000;
const WITH_WEBHOOKS = { WEBHOOK_ENABLED: 'true', WEBHOOK_SECRET: 'a-secret-for-the-bench' };

export async function run(): Promise<Result[]> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  try {
    const packed = installPacked(join(folder, 'packed'));
    const source = resolve(import.meta.dirname, '../bin/svc');
    return [...startUp(folder, packed, source), ...(await idle(folder, packed, source))];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function startUp(folder: string, packed: string, source: string): Result[] {
  const empty = join(folder, 'empty.mjs');
  writeFileSync(empty, '');
  const home = join(folder, 'home');
  spawnSync(process.execPath, [source, 'webhook', 'subscribe', 'example'], { env: { ...process.env, SVC_HOME: home } });
  const cases = [
    { name: 'an empty script', args: [empty] },
    { name: 'svc --version, packed', args: [packed, '--version'], goal: 2 },
    { name: 'svc webhook list, packed', args: [packed, 'webhook', 'list'], goal: 2 },
    { name: 'svc --version, from source', args: [source, '--version'], goal: 3 },
    { name: 'svc webhook list, from source', args: [source, 'webhook', 'list'], goal: 3 },
  ].map((entry) => ({ ...entry, times: [] as number[] }));
  // Round by round: what the machine does besides hits all of them. The first rounds fill the compile cache.
  for (let round = -3; round < ROUNDS; round += 1) {
    for (const { args, times } of cases) {
      const begun = performance.now();
      const { status } = spawnSync(process.execPath, args, { env: { ...process.env, SVC_HOME: home } });
      if (status !== 0) throw new Error(`${args.join(' ')} failed`);
      if (round >= 0) times.push(performance.now() - begun);
    }
  }
  const [baseline, ...commands] = cases;
  const emptyMs = median(baseline?.times ?? []);
  return commands.map(({ name, times, goal = 0 }) =>
    atMost(goal, {
      name,
      value: median(times) / emptyMs,
      detail: `${median(times).toFixed(0)} ms against ${emptyMs.toFixed(0)} ms for an empty script, median of ${ROUNDS}`,
    }),
  );
}

async function idle(folder: string, packed: string, source: string): Promise<Result[]> {
  const probe = join(folder, 'timers.mjs');
  const found = join(folder, 'timers.json');
  writeFileSync(probe, timerProbe(found));
  const watched = createSvcHome([process.execPath, '--import', pathToFileURL(probe).href, packed]);
  try {
    const gateway = await watched.startGateway({ env: WITH_WEBHOOKS });
    await delay(SETTLE_MS + WATCH_MS);
    await gateway.end();
    const { place, count } = JSON.parse(readFileSync(found, 'utf8')) as { place: string; count: number };
    return [
      await memory('packed', packed),
      await memory('from source', source),
      atMost(1, {
        name: 'idle gateway, busiest timer',
        value: count / (WATCH_MS / 1000),
        unit: ' wake-ups/s',
        detail: `${count} in ${WATCH_MS / 1000} s${place === '' ? '' : `, ${place.replace(/\(.*\/|\)/g, '')}`}`,
      }),
    ];
  } finally {
    await watched.remove();
  }
}

async function memory(name: string, launcher: string): Promise<Result> {
  const home = createSvcHome([process.execPath, launcher]);
  try {
    // The first start after a change compiles and fills the cache.
    await (await home.startGateway({ env: WITH_WEBHOOKS })).end();
    const gateway = await home.startGateway({ env: WITH_WEBHOOKS });
    await delay(SETTLE_MS);
    const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8')) ?? [];
    await gateway.end();
    const detail = `resident after ${SETTLE_MS / 1000} s, webhooks on`;
    return atMost(130, { name: `idle gateway, memory, ${name}`, value: Number(kilobytes) / 1024, unit: ' MB', detail });
  } finally {
    await home.remove();
  }
}

/** Counts how often timers fire, by the place that sets them. The HTTP server's own check runs once a second by setting. */
function timerProbe(output: string): string {
  return `
import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
const counts = new Map();
let watching = false;
for (const name of ['setTimeout', 'setInterval']) {
  const original = globalThis[name];
  globalThis[name] = Object.assign((callback, ms, ...args) => {
    const frames = (new Error().stack ?? '').split('\\n').slice(2);
    const place = frames.find((frame) => !/clock|new Promise|node:internal/.test(frame))?.trim() ?? frames[0];
    return original((...values) => {
      if (watching) counts.set(place, (counts.get(place) ?? 0) + 1);
      callback(...values);
    }, ms, ...args);
  }, original);
}
const { setTimeout: real } = await import('node:timers');
real(() => { watching = true; }, ${SETTLE_MS}).unref();
if (isMainThread) real(() => {
  const [place = '', count = 0] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [];
  writeFileSync(${JSON.stringify(output)}, JSON.stringify({ place, count }));
}, ${SETTLE_MS + WATCH_MS - 500}).unref();
`;
}
