// A million jobs in the table: how a gateway starts with them, what it costs when nothing is due, how long a look takes, and
// what happens to jobs and webhooks when 20,000 of them are due in the same second.

import { createHmac, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { openStore } from '../src/store/open.ts';
import { dueJobs, nextWakeAt } from '../src/store/slots.ts';
import { createSvcHome, type SvcHome } from '../test/support/svc.ts';
import { atMost, lineOf, median, type Result } from './report.ts';

const MANY = 1_000_000;
const FEW = 1_000;
const HERD = 20_000;
const LOOKS = 2_000;
/** The compiler is busy for a while after the start. */
const SETTLE_S = 15;
const IDLE_S = 20;
const POSTS_PER_S = 100;
const SECRET = 'bench-secret';
const TICKS_PER_S = 100;

export async function run(): Promise<Result[]> {
  const few = home();
  const many = home();
  try {
    await seed(few, FEW);
    await seed(many, MANY);
    const startFew = median([await startMs(few), await startMs(few), await startMs(few)]);
    const startMany = median([await startMs(many), await startMs(many), await startMs(many)]);
    const look = await lookUs(many);
    const idle = await idlePercent(many);
    const bareS = await bareLoopS(few);
    const herd = await herdOf(many);
    return [
      atMost(3, {
        name: `start to ready with ${MANY} jobs against ${FEW}`,
        value: startMany / startFew,
        detail: `${startMany.toFixed(0)} ms against ${startFew.toFixed(0)} ms`,
      }),
      atMost(50, {
        name: 'look-up when nothing is due',
        value: look,
        unit: ' us',
        detail: `median of ${LOOKS}, ${MANY} jobs stored`,
      }),
      atMost(1, {
        name: 'processor time of an idle gateway',
        value: idle,
        unit: ' %',
        detail: `over ${IDLE_S} s with ${MANY} jobs stored`,
      }),
      atMost(2, {
        name: `${HERD} due times in one second, all on record`,
        value: herd.recordedS,
        unit: ' s',
        detail: `${Math.round(HERD / herd.recordedS)} per second, durable, beside ${POSTS_PER_S} webhooks per second`,
      }),
      atMost(4, {
        name: 'the same against a bare loop that only writes the rows',
        value: herd.recordedS / bareS,
        detail: `${herd.recordedS.toFixed(2)} s against ${bareS.toFixed(2)} s, with nothing beside it`,
      }),
      atMost(3, {
        name: 'p99 of webhook accepts beside that, against before it',
        value: herd.p99During / herd.p99Before,
        detail: `${herd.p99During.toFixed(1)} ms against ${herd.p99Before.toFixed(1)} ms at ${POSTS_PER_S} per second`,
      }),
    ];
  } finally {
    await few.remove();
    await many.remove();
  }
}

function home(): SvcHome {
  const made = createSvcHome();
  made.configure(
    [
      'runs: { concurrency: 0 }',
      'platforms:',
      '  webhook:',
      '    enabled: true',
      '    extra:',
      '      host: 127.0.0.1',
      '      rate_limit: 1000000',
      `      routes: { bench: { secret: ${SECRET} } }`,
    ].join('\n'),
  );
  return made;
}

/** Jobs with periods from 1 minute to 24 hours, none of them due within the next hour. */
async function seed({ path }: SvcHome, count: number): Promise<void> {
  const file = join(path, 'svc.db');
  await (await openStore({ file }, { mode: 'inline' })).close();
  const database = new DatabaseSync(file);
  const now = Math.floor(Date.now() / 1000) * 1000;
  const options = JSON.stringify({ deliver: 'log', skills: [], retries: 0, madeBy: 'person' });
  const insert = database.prepare(
    `INSERT INTO jobs (id, name, name_key, schedule, tz, anchor_at, prompt, overlap, options, enabled, revision,
                       next_run_at, created_at, updated_at)
     VALUES (?1, ?1, ?1, ?2, 'UTC', ?3, 'Look after it', 'skip', ?4, 1, 1, ?5, ?3, ?3)`,
  );
  database.exec('PRAGMA synchronous = OFF; BEGIN');
  for (let index = 0; index < count; index += 1) {
    const schedule = index % 3 === 0 ? `${index % 60} ${index % 24} * * *` : `every ${1 + (index % 1440)}m`;
    insert.run(`job_${index}`, schedule, now, options, now + 3_600_000 + Math.floor((index / count) * 86_400_000));
  }
  database.exec('COMMIT');
  database.close();
}

async function startMs(at: SvcHome): Promise<number> {
  const from = performance.now();
  const gateway = await at.startGateway();
  const took = performance.now() - from;
  await gateway.end();
  return took;
}

async function lookUs({ path }: SvcHome): Promise<number> {
  const store = await openStore({ file: join(path, 'svc.db') }, { mode: 'inline' });
  const times: number[] = [];
  for (let index = 0; index < LOOKS; index += 1) {
    const now = Date.now();
    const from = performance.now();
    await store.read(dueJobs({ now, limit: 500 }));
    await store.read(nextWakeAt({}));
    times.push((performance.now() - from) * 1000);
  }
  await store.close();
  return median(times);
}

async function idlePercent(at: SvcHome): Promise<number> {
  const gateway = await at.startGateway();
  await delay(SETTLE_S * 1000);
  const before = cpuTicks(gateway.pid);
  await delay(IDLE_S * 1000);
  const used = cpuTicks(gateway.pid) - before;
  await gateway.end();
  return (used / TICKS_PER_S / IDLE_S) * 100;
}

/** Processor time of the process with all its threads, as the kernel counts it. */
function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return Number(fields[11]) + Number(fields[12]);
}

/** The rows of that many due times, written by prepared statements in transactions of 100: what the disk and SQLite take. */
async function bareLoopS({ path }: SvcHome): Promise<number> {
  const database = new DatabaseSync(join(path, 'svc.db'));
  database.exec('PRAGMA synchronous = FULL');
  const advance = database.prepare('UPDATE jobs SET next_run_at = next_run_at + 1 WHERE id = ?1');
  const slot = database.prepare(
    `INSERT INTO job_slots (job_id, due_at, last_due_at, instants, cause, state, late, reason, run_id, recorded_at)
     VALUES (?1, ?2, ?2, 1, 'schedule', 'running', 0, 'Started on time.', ?3, ?2)`,
  );
  const queued = database.prepare(
    `INSERT INTO runs (id, state, source_kind, source_name, source_ref, prompt, settings, addresses, queue, created_at, available_at)
     VALUES (?1, 'queued', 'job', ?2, ?3, 'Look after it', '{}', '[]', ?2, ?3, ?3)`,
  );
  const from = performance.now();
  for (let index = 0; index < HERD; index += 1) {
    if (index % 100 === 0) database.exec('BEGIN IMMEDIATE');
    const job = `job_${index % FEW}`;
    advance.run(job);
    slot.run(job, index, `run_${index}`);
    queued.run(`run_${index}`, job, index);
    if (index % 100 === 99) database.exec('COMMIT');
  }
  const took = (performance.now() - from) / 1000;
  database.close();
  return took;
}

async function herdOf(at: SvcHome): Promise<{ recordedS: number; p99Before: number; p99During: number }> {
  const database = new DatabaseSync(join(at.path, 'svc.db'), { timeout: 10_000 });
  const gateway = await at.startGateway();
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  try {
    await post(gateway.url, agent);
    const dueAt = Math.ceil(Date.now() / 1000) * 1000 + 9000;
    database.prepare('UPDATE jobs SET next_run_at = ?1 WHERE rowid <= ?2').run(dueAt, HERD);
    const before: number[] = [];
    const during: number[] = [];
    const posting = postSteadily(gateway.url, agent, dueAt + 3000, (at, took) => {
      if (at < dueAt - 500) before.push(took);
      else if (at >= dueAt) during.push(took);
    });
    const recorded = database.prepare('SELECT COUNT(*) AS slots FROM job_slots');
    await delay(dueAt - Date.now());
    let recordedAt = 0;
    while (recordedAt === 0 && Date.now() < dueAt + 60_000) {
      if (Number(recorded.get()?.slots) >= HERD) recordedAt = Date.now();
      else await delay(20);
    }
    await posting;
    return { recordedS: (recordedAt - dueAt) / 1000, p99Before: p99(before), p99During: p99(during) };
  } finally {
    agent.destroy();
    database.close();
    await gateway.end();
  }
}

async function postSteadily(
  url: string,
  agent: Agent,
  until: number,
  done: (at: number, tookMs: number) => void,
): Promise<void> {
  const open: Promise<void>[] = [];
  while (Date.now() < until) {
    const at = Date.now();
    open.push(post(url, agent).then((took) => done(at, took)));
    await delay(1000 / POSTS_PER_S);
  }
  await Promise.all(open);
}

function post(url: string, agent: Agent): Promise<number> {
  const body = JSON.stringify({ event_type: 'bench', text: 'x'.repeat(500) });
  const signature = createHmac('sha256', SECRET).update(body).digest('hex');
  const from = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(
      `${url}/webhooks/bench`,
      {
        method: 'POST',
        agent,
        headers: { 'content-type': 'application/json', 'x-webhook-signature': signature, 'x-request-id': randomUUID() },
      },
      (response) => {
        response.resume();
        response.on('end', () => {
          if (response.statusCode === 200) resolve(performance.now() - from);
          else reject(new Error(`The webhook was answered ${response.statusCode}.`));
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

const p99 = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0;

if (import.meta.main) for (const result of await run()) console.log(lineOf(result));
