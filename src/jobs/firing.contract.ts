// What firing must promise on every store: one slot per due time, one run per slot, one end per slot, whoever competes.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type JobHouse, jobHouse } from '../../test/support/job-house.ts';
import { FINAL_SLOT_STATES, type Slot } from '../core/job.ts';
import { getDelivery, listDeliveries } from '../store/deliveries.ts';
import { claimDeliveries, endAttempt } from '../store/outbox.ts';
import { cancelRun, getRun, listRuns, retryRun } from '../store/runs.ts';
import type { Store } from '../store/store.ts';
import type { ScriptOutcome } from './script.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const person = { kind: 'person' } as const;

export function firingContract(name: string, freshStore: () => Promise<() => Promise<Store>>): void {
  describe(`jobs on ${name}`, () => {
    let again: () => Promise<Store>;
    let store: Store;
    /** Each test has its own stretch of time, so that what one leaves behind is not due in the next. */
    let era = Date.UTC(2026, 0, 1);

    before(async () => {
      again = await freshStore();
      store = await again();
    });
    after(() => store.close());

    const house = (options: { runScript?: () => Promise<ScriptOutcome> } = {}): JobHouse => {
      era += 400 * 24 * HOUR;
      return jobHouse({ store, start: era, ...options });
    };
    const states = (slots: readonly Slot[]): string[] => slots.map(({ state }) => state);
    const messagesAbout = async (name: string): Promise<string[]> => {
      const { deliveries } = await store.read(listDeliveries({ limit: 1000 }));
      const texts = [];
      for (const { id, source } of deliveries.reverse()) {
        const text = source === name ? (await store.read(getDelivery({ id })))?.text : undefined;
        if (text !== undefined) texts.push(text);
      }
      return texts;
    };
    const deliverAll = async (now: number, state: 'delivered' | 'dead' = 'delivered'): Promise<void> => {
      const claim = { owner: 'o', now, leaseMs: MINUTE, limit: 50, resting: [], probed: [] };
      for (;;) {
        const claimed = await store.write(claimDeliveries(claim));
        if (claimed.length === 0) return;
        for (const { id, fence } of claimed) {
          const end = { state, attempts: 1, partsSent: 1, uncertain: false } as const;
          await store.write(endAttempt({ id, fence, ...end, at: now }));
        }
      }
    };

    test('a due time becomes one slot with one run, and ends with it', async () => {
      const { jobs, scheduler, clock, answerAll } = house();
      const job = await jobs.create({ schedule: 'every 5m', prompt: 'Look', name: 'one', deliver: 'log' }, person);
      assert.equal(await scheduler.tick(), 0, 'nothing is due before its time');
      clock.pass(5 * MINUTE);
      assert.equal(await scheduler.tick(), 1);
      assert.equal(await scheduler.tick(), 0, 'the second look finds nothing');
      const [slot] = await jobs.slots(job, 10);
      assert.equal(slot?.state, 'running');
      assert.equal(slot?.dueAt, job.nextRunAt);
      assert.equal(await answerAll({ answer: 'quiet', silent: true }), 1);
      const [ended] = await jobs.slots(job, 10);
      assert.deepEqual([ended?.state, ended?.endedAt], ['ran', clock.now()]);
      assert.match(ended?.reason ?? '', /SILENT/);
      assert.equal((await jobs.find(job.id)).lastStatus, 'ran');
      await jobs.remove(job.id);
    });

    test('two schedulers on one database never fire a due time twice', async () => {
      const first = house();
      const other = await again();
      const second = jobHouse({ store: other, start: first.clock.now() });
      const made = [];
      for (let index = 0; index < 60; index += 1) {
        const schedule = ['every 1m', '* * * * *', '*/2 * * * *'][index % 3] ?? 'every 1m';
        made.push(await first.jobs.create({ schedule, prompt: 'Race', name: `race ${index}` }, person));
      }
      let recorded = 0;
      for (let minute = 0; minute < 4; minute += 1) {
        first.clock.pass(MINUTE);
        second.clock.set(first.clock.now());
        const counts = await Promise.all([first.scheduler.tick(), second.scheduler.tick()]);
        recorded += counts[0] + counts[1];
        await first.answerAll({ answer: '', silent: true });
      }
      let slots = 0;
      for (const job of made) {
        const found = await first.jobs.slots(job, 100);
        slots += found.length;
        assert.deepEqual(new Set(states(found)), new Set(['ran']), job.name);
        const { runs } = await store.read(listRuns({ sourceKind: 'job', sourceName: job.id, limit: 100 }));
        assert.equal(runs.length, found.length, 'one run per slot');
        await first.jobs.remove(job.id);
      }
      assert.equal(slots, recorded);
      await other.close();
    });

    test('an overlapping due time is skipped with a reason, until the run has its answer', async () => {
      const { jobs, scheduler, clock, answerAll } = house();
      const job = await jobs.create({ schedule: 'every 5m', prompt: 'Slow', name: 'slow', deliver: 'log' }, person);
      for (let round = 0; round < 2; round += 1) {
        clock.pass(5 * MINUTE);
        await scheduler.tick();
      }
      assert.deepEqual(states(await jobs.slots(job, 10)), ['skipped_overlap', 'running']);
      assert.match((await jobs.slots(job, 1))[0]?.reason ?? '', /had not ended yet \(run run_/);
      await answerAll();
      clock.pass(5 * MINUTE);
      await scheduler.tick();
      assert.deepEqual(
        states(await jobs.slots(job, 10)),
        ['running', 'skipped_overlap', 'running'],
        'a message that waits for its target is not in the way',
      );
      await deliverAll(clock.now());
      await answerAll({ answer: '', silent: true });
      assert.deepEqual(states(await jobs.slots(job, 10)), ['ran', 'skipped_overlap', 'ran']);
      await jobs.remove(job.id);
    });

    test('queue runs one after another and is bounded; parallel runs at once', async () => {
      const { jobs, scheduler, clock, answerAll } = house();
      const queued = await jobs.create({ schedule: 'every 1m', prompt: 'Q', name: 'q', overlap: 'queue' }, person);
      const parallel = await jobs.create({ schedule: 'every 1m', prompt: 'P', name: 'p', overlap: 'parallel' }, person);
      for (let minute = 0; minute < 12; minute += 1) {
        clock.pass(MINUTE);
        await scheduler.tick();
      }
      const slots = await jobs.slots(queued, 20);
      assert.deepEqual(states(slots).slice(0, 2), ['skipped_overlap', 'skipped_overlap']);
      assert.equal(slots.filter(({ state }) => state === 'running').length, 10);
      assert.match(slots[0]?.reason ?? '', /queue takes no more/);
      assert.equal((await jobs.slots(parallel, 20)).filter(({ state }) => state === 'running').length, 12);
      await answerAll({ answer: '', silent: true });
      const order = (await jobs.slots(queued, 20)).filter(({ state }) => state === 'ran').reverse();
      const runs = await Promise.all(order.map(({ runId }) => store.read(getRun({ id: runId ?? '' }))));
      assert.deepEqual(
        runs.map((run) => run?.id),
        runs.map((run) => run?.id).sort(),
      );
      await jobs.remove(queued.id);
      await jobs.remove(parallel.id);
    });

    test('ten failures in a row pause the job with one message; the next success takes it back', async () => {
      const { jobs, scheduler, clock, answerAll } = house();
      const job = await jobs.create(
        { schedule: 'every 5m', prompt: 'Fail', name: 'bad', deliver: 'log', retries: 0 },
        person,
      );
      for (let round = 0; round < 12; round += 1) {
        clock.pass(5 * MINUTE);
        await scheduler.tick();
        await answerAll({ error: 'the model said no' });
      }
      const paused = await jobs.find(job.id);
      assert.equal(paused.enabled, false);
      assert.equal(paused.failures, 10);
      assert.match(paused.pauseReason ?? '', /after 10 failures in a row.*the model said no/s);
      const told = await messagesAbout(job.name);
      assert.equal(told.filter((text) => text.includes('Paused by itself')).length, 1);
      assert.equal(told.filter((text) => text === 'the model said no').length, 10, 'every failure is reported');
      await jobs.resume(job.id);
      clock.pass(5 * MINUTE);
      await scheduler.tick();
      await answerAll({ answer: 'fine', silent: true });
      const well = await jobs.find(job.id);
      assert.deepEqual([well.failures, well.lastStatus, well.alarm], [0, 'ran', undefined]);
      assert.equal((await messagesAbout(job.name)).filter((text) => text.includes('works again')).length, 1);
      await jobs.remove(job.id);
    });

    test('a run that a person cancelled does not count as a failure', async () => {
      const { jobs, scheduler, clock } = house();
      const job = await jobs.create({ schedule: 'every 5m', prompt: 'x', name: 'cancelled' }, person);
      clock.pass(5 * MINUTE);
      await scheduler.tick();
      const [slot] = await jobs.slots(job, 1);
      await store.write(cancelRun({ id: slot?.runId ?? '', at: clock.now() }));
      const after = await jobs.find(job.id);
      assert.deepEqual([after.failures, after.lastStatus], [0, 'failed']);
      await jobs.remove(job.id);
    });

    test('an expectation that is not met raises one alarm, and the next success says so', async () => {
      const { jobs, scheduler, clock, answerAll } = house();
      const job = await jobs.create(
        { schedule: 'every 1h', prompt: 'x', name: 'expected', deliver: 'log', expectEveryMs: 3 * HOUR, retries: 0 },
        person,
      );
      for (let hour = 0; hour < 6; hour += 1) {
        clock.pass(HOUR);
        await scheduler.tick();
        await answerAll({ error: 'down' });
      }
      const alarms = (await messagesAbout(job.name)).filter((text) =>
        text.includes('should succeed at least every 3 h'),
      );
      assert.equal(alarms.length, 1);
      assert.match(alarms[0] ?? '', /never succeeded.*Last error: .*down/s);
      clock.pass(HOUR);
      await scheduler.tick();
      await answerAll({ answer: 'up', silent: true });
      assert.equal((await messagesAbout(job.name)).filter((text) => text.includes('works again')).length, 1);
      assert.equal((await jobs.find(job.id)).alarmAt, clock.now() + 3 * HOUR);
      await jobs.remove(job.id);
    });

    test('a script comes first; what it printed reaches the run apart from the prompt', async () => {
      const { jobs, scheduler, scripts, clock, answerAll } = house({
        runScript: async () => ({ kind: 'printed', output: 'disk 91 %' }),
      });
      const job = await withScript(jobs, 'printing');
      clock.pass(5 * MINUTE);
      await scheduler.tick();
      assert.deepEqual(states(await jobs.slots(job, 1)), ['waiting']);
      await scripts.look();
      await scripts.idle();
      const [slot] = await jobs.slots(job, 1);
      const run = await store.read(getRun({ id: slot?.runId ?? '' }));
      assert.equal(run?.prompt, 'disk 91 %');
      assert.equal(run?.settings.instructions, 'Judge it');
      assert.deepEqual([run?.settings.untrusted, run?.settings.toolsets], [true, ['svc-cron']]);
      await answerAll({ answer: '', silent: true });
      assert.deepEqual(states(await jobs.slots(job, 1)), ['ran']);
      await jobs.remove(job.id);
    });

    test('a script that finds nothing to do gates the run; one that fails is reported', async () => {
      const outcomes: ScriptOutcome[] = [{ kind: 'gated' }, { kind: 'failed', reason: 'It ended with exit code 3.' }];
      const { jobs, scheduler, scripts, clock } = house({
        runScript: async () => outcomes.shift() ?? { kind: 'gated' },
      });
      const job = await withScript(jobs, 'gating');
      for (let round = 0; round < 2; round += 1) {
        clock.pass(5 * MINUTE);
        await scheduler.tick();
        await scripts.look();
        await scripts.idle();
      }
      const slots = await jobs.slots(job, 5);
      assert.deepEqual(states(slots), ['failed', 'gated']);
      assert.ok(slots.every(({ runId }) => runId === undefined));
      assert.equal((await jobs.find(job.id)).failures, 1);
      assert.match((await messagesAbout(job.name)).join('\n'), /its script failed. It ended with exit code 3/);
      await jobs.remove(job.id);
    });

    test('a script whose process died is reported and not started again', async () => {
      let started = 0;
      const dead = house({
        runScript: () => {
          started += 1;
          return new Promise(() => {});
        },
      });
      const job = await withScript(dead.jobs, 'dying');
      dead.clock.pass(5 * MINUTE);
      await dead.scheduler.tick();
      await dead.scripts.look();
      const later = jobHouse({ store, start: dead.clock.now() + 30_000 });
      await later.scripts.look();
      assert.deepEqual(states(await later.jobs.slots(job, 1)), ['scripting'], 'its lease still holds');
      later.clock.pass(2 * MINUTE);
      await later.scripts.look();
      const [slot] = await later.jobs.slots(job, 1);
      assert.equal(slot?.state, 'failed');
      assert.match(slot?.reason ?? '', /unknown, so it is not started again/);
      assert.match((await messagesAbout(job.name)).join('\n'), /ended before the script did/);
      assert.equal(started, 1);
      await later.jobs.remove(job.id);
    });

    test('a slot that waits for its script ends as paused when the job is paused first', async () => {
      const { jobs, scheduler, scripts, clock } = house();
      const job = await withScript(jobs, 'paused script');
      clock.pass(5 * MINUTE);
      await scheduler.tick();
      await jobs.pause(job.id, 'Holiday.');
      await scripts.look();
      await scripts.idle();
      assert.deepEqual(states(await jobs.slots(job, 1)), ['paused']);
      await jobs.remove(job.id);
    });

    test('an event starts a job once, by the same overlap rule, and not while it is paused', async () => {
      const { jobs, answerAll } = house();
      const job = await jobs.create({ schedule: '@daily', prompt: 'Deploy', name: 'deploy' }, person);
      const event = { cause: 'webhook', causeRef: 'evt_1', context: '{"a":1}' } as const;
      const started = await jobs.fire('Deploy', event);
      assert.equal(started.kind, 'started');
      assert.equal((await jobs.fire('deploy', event)).kind, 'already_recorded');
      assert.equal((await jobs.fire('deploy', { ...event, causeRef: 'evt_2' })).kind, 'skipped_overlap');
      const run = await store.read(getRun({ id: started.slot.runId ?? '' }));
      assert.deepEqual([run?.prompt, run?.settings.instructions, run?.settings.untrusted], ['{"a":1}', 'Deploy', true]);
      await answerAll({ answer: '', silent: true });
      await jobs.pause(job.id, 'No.');
      assert.equal((await jobs.fire('deploy', { ...event, causeRef: 'evt_3' })).kind, 'paused');
      assert.equal((await jobs.fire('deploy', { cause: 'manual' })).kind, 'started', 'a person may');
      await answerAll({ answer: '', silent: true });
      assert.deepEqual(states(await jobs.slots(job, 10)).sort(), ['paused', 'ran', 'ran', 'skipped_overlap']);
      await jobs.remove(job.id);
    });

    test('an answer that cannot be delivered any more fails its slot, and a later delivery mends it', async () => {
      const { jobs, scheduler, clock, answerAll } = house();
      const job = await jobs.create({ schedule: 'every 5m', prompt: 'x', name: 'undelivered', deliver: 'log' }, person);
      clock.pass(5 * MINUTE);
      await scheduler.tick();
      await answerAll();
      await deliverAll(clock.now(), 'dead');
      const [slot] = await jobs.slots(job, 1);
      assert.equal(slot?.state, 'failed');
      assert.match(slot?.reason ?? '', /could not be delivered; `svc deliveries list/);
      assert.equal((await jobs.find(job.id)).failures, 1);
      await store.write(retryRun({ id: slot?.runId ?? '', at: clock.now() }));
      await deliverAll(clock.now());
      assert.equal((await jobs.slots(job, 1))[0]?.state, 'ran');
      await jobs.remove(job.id);
    });

    test('a run that a person tries again ends its slot again', async () => {
      const { jobs, scheduler, clock, answerAll } = house();
      const job = await jobs.create({ schedule: 'every 5m', prompt: 'x', name: 'again', retries: 0 }, person);
      clock.pass(5 * MINUTE);
      await scheduler.tick();
      await answerAll({ error: 'once' });
      const [failed] = await jobs.slots(job, 1);
      assert.equal(failed?.state, 'failed');
      await store.write(retryRun({ id: failed?.runId ?? '', at: clock.now() }));
      await answerAll({ answer: 'better', silent: true });
      assert.equal((await jobs.slots(job, 1))[0]?.state, 'ran');
      await jobs.remove(job.id);
    });

    test('every slot that was ever written has ended in a final state', async () => {
      const { jobs, scheduler, clock, answerAll } = house();
      const job = await jobs.create({ schedule: 'every 7m', prompt: 'x', name: 'all' }, person);
      for (const minutes of [7, 7, 30, 500, 3, 4, 7]) {
        clock.pass(minutes * MINUTE);
        await scheduler.tick();
        await answerAll({ answer: '', silent: true });
      }
      const slots = await jobs.slots(job, 100);
      assert.ok(slots.every(({ state }) => FINAL_SLOT_STATES.some((final) => final === state)));
      const instants = slots.reduce((sum, slot) => sum + slot.instants, 0);
      const passed = Math.floor((clock.now() - job.anchorAt) / (7 * MINUTE));
      assert.equal(instants, passed, 'no due time is without a row');
      await jobs.remove(job.id);
    });
  });
}

/** A job whose script is whatever the test says; the file only has to exist. */
const withScript = (jobs: JobHouse['jobs'], name: string) =>
  jobs.create(
    { schedule: 'every 5m', prompt: 'Judge it', name, deliver: 'log', script: process.execPath, retries: 0 },
    { kind: 'person' },
  );
