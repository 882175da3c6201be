// kill -9 before every single write of the firing path, with real processes: whatever was under way, afterwards every due time
// has exactly one row, every row one end, and no due time two runs or two script starts.

import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { FINAL_SLOT_STATES } from '../../src/core/job.ts';
import { listDeliveries } from '../../src/store/deliveries.ts';
import { openStore } from '../../src/store/open.ts';
import { listRuns } from '../../src/store/runs.ts';
import { startNode } from '../support/child.ts';
import { jobHouse } from '../support/job-house.ts';

const START = Date.UTC(2026, 5, 10, 12);
const MINUTE = 60_000;
/** Played before the crash, and after it: long enough for every lease to run out. */
const BEFORE = 1;
const AFTER = 4;
const child = join(import.meta.dirname, '../support/job-crash-child.ts');
const person = { kind: 'person' } as const;

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-job-crash-'));
});
after(() => rm(folder, { recursive: true, force: true }));

/** A home with one job of every kind, its clock at the start. */
async function prepare(): Promise<string> {
  const home = await mkdtemp(join(folder, 'home-'));
  await writeFile(join(home, 'clock'), String(START));
  // The scripts note each start, so that a second one would be seen.
  await writeFile(join(home, 'print.sh'), 'echo "$SVC_DUE_AT print" >> "$SVC_HOME/starts"\necho text\n');
  await writeFile(join(home, 'gate.sh'), 'echo "$SVC_DUE_AT gate" >> "$SVC_HOME/starts"\necho \'{"wake": false}\'\n');
  await writeFile(join(home, 'fail.sh'), 'echo "$SVC_DUE_AT fail" >> "$SVC_HOME/starts"\nexit 1\n');
  await writeFile(join(home, 'starts'), '');
  const store = await openStore({ file: join(home, 'svc.db') }, { mode: 'inline' });
  const { jobs } = jobHouse({ store, start: START, scriptsFolder: home });
  const draft = { schedule: 'every 1m', prompt: 'x', deliver: 'log', retries: 0 };
  await jobs.create({ ...draft, name: 'plain' }, person);
  await jobs.create({ ...draft, name: 'cron', schedule: '* * * * *', overlap: 'queue' }, person);
  await jobs.create({ ...draft, name: 'print', script: 'print.sh' }, person);
  await jobs.create({ ...draft, name: 'gate', script: 'gate.sh', overlap: 'parallel' }, person);
  await jobs.create({ ...draft, name: 'fail', script: 'fail.sh', overlap: 'queue' }, person);
  await jobs.create({ ...draft, name: 'once', schedule: 'in 1m' }, person);
  await store.close();
  return home;
}

async function play(
  home: string,
  minutes: number,
  dieBeforeWrite = 0,
): Promise<{ code: number | null; output: string }> {
  const env = { SVC_TEST_DIE_BEFORE_WRITE: String(dieBeforeWrite) };
  const started = startNode([child, home, String(minutes)], { env });
  const { code } = await started.ended();
  return { code, output: started.output() };
}

/** What must hold in any home, whatever happened to it. */
async function check(home: string, what: string): Promise<void> {
  const store = await openStore({ file: join(home, 'svc.db') }, { mode: 'inline' });
  const now = Number(await readFile(join(home, 'clock'), 'utf8'));
  const { jobs } = jobHouse({ store, start: now });
  for (const job of await jobs.list({ limit: 100 })) {
    const slots = await jobs.slots(job, 1000);
    const say = `${what}: ${job.name}: ${JSON.stringify(slots.map(({ state, instants }) => `${state} ${instants}`))}`;
    const due = job.schedule === 'in 1m' ? 1 : (now - START) / MINUTE;
    assert.equal(
      slots.reduce((sum, { instants }) => sum + instants, 0),
      due,
      `every due time has its row; ${say}`,
    );
    assert.ok(
      slots.every(({ state, endedAt }) => endedAt !== undefined && FINAL_SLOT_STATES.some((final) => final === state)),
      `every row has ended; ${say}`,
    );
    const { runs } = await store.read(listRuns({ sourceKind: 'job', sourceName: job.id, limit: 1000 }));
    const refs = runs.map(({ source }) => source.ref);
    assert.equal(new Set(refs).size, refs.length, `no due time has two runs; ${say}`);
    assert.equal(
      slots.filter(({ runId }) => runId !== undefined).length,
      runs.length,
      `no run without its slot; ${say}`,
    );
    assert.ok(
      runs.every(({ state }) => state === 'silent'),
      `no run is left behind; ${say}`,
    );
    const { deliveries } = await store.read(listDeliveries({ limit: 1000 }));
    const told = deliveries.filter(({ source }) => source === job.name).length;
    assert.equal(told, slots.filter(({ state }) => state === 'failed').length, `every failure is told once; ${say}`);
  }
  const starts = (await readFile(join(home, 'starts'), 'utf8')).trim().split('\n');
  assert.equal(new Set(starts).size, starts.length, `${what}: no script was started twice for one due time`);
  await store.close();
}

test('kill -9 before any write of the firing path loses nothing and repeats nothing', async () => {
  const template = await prepare();
  const fresh = async (): Promise<string> => {
    const home = await mkdtemp(join(folder, 'copy-'));
    await cp(template, home, { recursive: true });
    return home;
  };
  const whole = await fresh();
  const { code, output } = await play(whole, BEFORE);
  assert.equal(code, 0);
  const writes = Number(output);
  assert.ok(writes >= 10, `the path has many writes (${writes})`);
  await play(whole, AFTER);
  await check(whole, 'without a crash');

  const deaths = Array.from({ length: writes }, (_, index) => index + 1);
  const lives = async (): Promise<void> => {
    for (let write = deaths.shift(); write !== undefined; write = deaths.shift()) {
      const home = await fresh();
      const died = await play(home, BEFORE, write);
      assert.equal(died.code, null, `it died before write ${write}`);
      assert.equal((await play(home, AFTER)).code, 0);
      await check(home, `killed before write ${write}`);
      await rm(home, { recursive: true, force: true });
    }
  };
  await Promise.all([lives(), lives()]);
});

test('a script that kills its own gateway is reported as failed and not started in a loop', async () => {
  const home = await mkdtemp(join(folder, 'killer-'));
  await writeFile(join(home, 'clock'), String(START));
  await writeFile(join(home, 'starts'), '');
  await writeFile(join(home, 'kill.sh'), 'echo "$SVC_DUE_AT kill" >> "$SVC_HOME/starts"\nkill -9 $PPID\nsleep 5\n');
  const store = await openStore({ file: join(home, 'svc.db') }, { mode: 'inline' });
  const { jobs } = jobHouse({ store, start: START, scriptsFolder: home });
  const draft = { prompt: 'x', deliver: 'log', retries: 0 };
  const killer = await jobs.create({ ...draft, schedule: 'in 1m', name: 'killer', script: 'kill.sh' }, person);
  const other = await jobs.create({ ...draft, schedule: 'every 1m', name: 'other' }, person);
  assert.equal((await play(home, 3)).code, null, 'the gateway was killed');
  assert.equal((await play(home, 3)).code, 0, 'and lives on after its next start');
  const [slot] = await jobs.slots(killer, 5);
  assert.equal(slot?.state, 'failed');
  assert.match(slot?.reason ?? '', /What the script did is unknown, so it is not started again by itself/);
  assert.equal((await readFile(join(home, 'starts'), 'utf8')).trim().split('\n').length, 1);
  const states = (await jobs.slots(other, 10)).map(({ state }) => state);
  assert.equal(states.length, 4, 'every due time of the other job is on record');
  assert.ok(
    states.every((state) => state === 'ran' || state === 'late' || state === 'skipped_overlap'),
    states.join(),
  );
  await store.close();
});
