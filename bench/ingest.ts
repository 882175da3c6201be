// Durable accepts against a node:http server that only verifies and parses; memory over 100,000 events; idle and slow
// strangers. Both servers are measured in short alternating turns, so that whatever else the machine does hits both alike.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { LoadOrder, LoadReport, StrangerOrder } from './ingest/load.ts';
import { atLeast, atMost, lineOf, type Result } from './report.ts';

const SECRET = 'a-secret-for-the-benchmark';
const CONNECTIONS = 64;
const TURNS = 12;
const TURN_MS = 700;
const EVENTS = 100_000;
const MEGABYTE = 1024 * 1024;

export async function run(): Promise<Result[]> {
  const home = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  writeFileSync(join(home, 'config.yaml'), settings(), { mode: 0o600 });
  const children: ChildProcess[] = [];
  const start = async (file: string, args: string[], execArgv: string[] = []) => {
    const child = fork(resolve(import.meta.dirname, 'ingest', file), args, { execArgv, serialization: 'advanced' });
    children.push(child);
    const [hello] = (await once(child, 'message')) as [{ url: string }];
    return { child, url: hello.url };
  };
  try {
    const bare = await start('bare-server.ts', [SECRET]);
    const gateway = await start('gateway.ts', [home], ['--expose-gc']);
    const senders = (await start('load.ts', [])).child;
    const holders = (await start('load.ts', [])).child;
    return [
      ...(await throughput(senders, bare.url, gateway.url)),
      await oneConnection(senders, bare.url, gateway.url),
      await memory(senders, gateway.child, gateway.url),
      ...(await strangers(senders, holders, gateway.url)),
    ];
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(
      children.map((child) => (child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined)),
    );
    rmSync(home, { recursive: true, force: true });
  }
}

const settings = (): string =>
  JSON.stringify({
    runs: { concurrency: 0 },
    platforms: {
      webhook: {
        enabled: true,
        extra: {
          host: '127.0.0.1',
          port: 0,
          secret: SECRET,
          rate_limit: 1e9,
          routes: { bench: { prompt: 'PR {number}: {action}' } },
        },
      },
    },
  });

async function ask<T>(child: ChildProcess, message: LoadOrder | StrangerOrder | 'release' | 'memory'): Promise<T> {
  child.send(message);
  const [answer] = (await once(child, 'message')) as [T];
  return answer;
}

interface Side {
  url: string;
  requests: number;
  ms: number;
  latenciesMs: number[];
}

/** Both sides in turns; the first turn of each warms up. */
async function inTurns(
  senders: ChildProcess,
  urls: readonly string[],
  connections: number,
  turns: number,
): Promise<Side[]> {
  const sides: Side[] = urls.map((url) => ({ url, requests: 0, ms: 0, latenciesMs: [] }));
  for (let turn = 0; turn <= turns; turn++) {
    for (const side of sides) {
      const order: LoadOrder = { kind: 'load', url: side.url, secret: SECRET, connections, durationMs: TURN_MS };
      const report = await ask<LoadReport>(senders, order);
      if (report.failures > 0)
        throw new Error(`${report.failures} of ${report.requests} requests to ${side.url} failed.`);
      if (turn === 0) continue;
      side.requests += report.requests;
      side.ms += report.ms;
      for (const latency of report.latenciesMs) side.latenciesMs.push(latency);
    }
  }
  return sides;
}

async function throughput(senders: ChildProcess, bareUrl: string, gatewayUrl: string): Promise<Result[]> {
  const [bare, ours] = await inTurns(senders, [bareUrl, gatewayUrl], CONNECTIONS, TURNS);
  if (!bare || !ours) throw new Error('Both servers are measured.');
  const rate = ({ requests, ms }: Side): number => (requests / ms) * 1000;
  const p99 = [percentile(ours.latenciesMs, 0.99), percentile(bare.latenciesMs, 0.99)] as const;
  return [
    atLeast(0.65, {
      name: `durable accepts with ${CONNECTIONS} connections`,
      value: rate(ours) / rate(bare),
      detail: `${rate(ours).toFixed(0)} against ${rate(bare).toFixed(0)} requests/s`,
    }),
    atMost(3, {
      name: `p99 with ${CONNECTIONS} connections`,
      value: p99[0] / p99[1],
      detail: `${p99[0].toFixed(1)} against ${p99[1].toFixed(1)} ms`,
    }),
  ];
}

async function oneConnection(senders: ChildProcess, bareUrl: string, gatewayUrl: string): Promise<Result> {
  const [bare, ours] = await inTurns(senders, [bareUrl, gatewayUrl], 1, 4);
  const p50 = [percentile(ours?.latenciesMs ?? [], 0.5), percentile(bare?.latenciesMs ?? [], 0.5)] as const;
  return atMost(3, {
    name: 'p50 of a durable accept with one connection',
    value: p50[0] / p50[1],
    detail: `${p50[0].toFixed(2)} against ${p50[1].toFixed(2)} ms`,
  });
}

async function memory(senders: ChildProcess, gateway: ChildProcess, url: string): Promise<Result> {
  const send = (requests: number) =>
    ask<LoadReport>(senders, {
      kind: 'load',
      url,
      secret: SECRET,
      connections: CONNECTIONS,
      durationMs: 120_000,
      requests,
    });
  const held = async () => (await ask<{ bytes: number }>(gateway, 'memory')).bytes / MEGABYTE;
  await send(EVENTS / 5);
  const before = await held();
  const { requests } = await send(EVENTS);
  const after = await held();
  return atMost(40, {
    name: `growth of memory over ${requests} events`,
    value: after - before,
    unit: ' MB',
    detail: `${before.toFixed(0)} to ${after.toFixed(0)} MB after a collection`,
  });
}

async function strangers(senders: ChildProcess, holders: ChildProcess, url: string): Promise<Result[]> {
  const results: Result[] = [];
  const probe = async () => percentile((await inTurns(senders, [url], 8, 4))[0]?.latenciesMs ?? [], 0.99);
  for (const [manner, count] of [
    ['idle', 10_000],
    ['slow', 5000],
  ] as const) {
    const alone = await probe();
    const { open } = await ask<{ open: number }>(holders, { kind: 'strangers', url, count, manner });
    const beside = await probe();
    await ask(holders, 'release');
    results.push(
      atMost(5, {
        name: `p99 of 8 senders beside ${count} ${manner} connections`,
        value: beside / alone,
        detail: `${beside.toFixed(1)} against ${alone.toFixed(1)} ms; ${open} of them were let in`,
      }),
    );
  }
  return results;
}

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;

if (import.meta.main) for (const result of await run()) console.log(lineOf(result));
