// Downtime, clock jumps and clock changes, played on a virtual clock; every outcome is also explained by `why`, from rows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type JobHouse, jobHouse } from '../../test/support/job-house.ts';
import type { Job, Slot } from '../core/job.ts';
import { getDelivery, listDeliveries } from '../store/deliveries.ts';
import { getRun } from '../store/runs.ts';
import { openMemoryStore } from '../store/sqlite/memory.ts';
import type { JobDraft } from './job.ts';
import { explain, readAskedTime } from './why.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOON = Date.UTC(2026, 5, 10, 12);
const person = { kind: 'person' } as const;

const houseAt = (start: number): JobHouse => jobHouse({ store: openMemoryStore(), start });

const make = (house: JobHouse, draft: Partial<JobDraft> & { schedule: string }): Promise<Job> =>
  house.jobs.create({ prompt: 'Look', name: draft.schedule, deliver: 'log', tz: 'UTC', ...draft }, person);

async function why(house: JobHouse, job: Job, time: string | undefined): Promise<string> {
  const fresh = await house.jobs.find(job.id);
  const now = house.clock.now();
  const asked = time === undefined ? undefined : readAskedTime(time, fresh, now);
  if (time !== undefined) assert.ok(asked, `${time} is a time`);
  return (await explain(house.store, fresh, asked, now)).sentences.join(' ');
}

const brief = (slots: readonly Slot[]): string[] =>
  slots.map(({ state, instants, dueAt, lastDueAt }) => {
    const time = (at: number): string => new Date(at).toISOString().slice(5, 16);
    return instants === 1 ? `${state} ${time(dueAt)}` : `${state} ${instants}x ${time(dueAt)}..${time(lastDueAt)}`;
  });

/** The gateway is away for that long and comes back; what it starts then succeeds. */
async function downtime(job: Partial<JobDraft> & { schedule: string }, awayMs: number) {
  const house = houseAt(NOON);
  const made = await make(house, job);
  await house.scheduler.tick();
  house.clock.pass(awayMs);
  const scheduler = house.restart();
  await scheduler.tick();
  await house.answerAll({ answer: '', silent: true });
  return { house, job: made, slots: brief((await house.jobs.slots(made, 50)).reverse()) };
}

// Each row: schedule, downtime, what is on record afterwards, a time to ask about, and what `why` says.
const ROWS: [string, number, string[], string, RegExp][] = [
  ['every 5m', 5 * MINUTE, ['ran 06-10T12:05'], '12:05', /It ran\. Started on time/],
  [
    'every 5m',
    7 * MINUTE,
    ['late 06-10T12:05'],
    '12:05',
    /It ran late\. Started 2 min late\. The gateway was not running/,
  ],
  [
    'every 5m',
    3 * HOUR,
    ['coalesced 35x 06-10T12:05..06-10T14:55', 'ran 06-10T15:00'],
    '13:20',
    /Due 35 times .*one later run stands for it\. The gateway was not running/,
  ],
  [
    'every 5m',
    3 * DAY,
    ['coalesced 863x 06-10T12:05..06-13T11:55', 'ran 06-13T12:00'],
    '2026-06-12 03:20',
    /Due 863 times.*not run by itself/,
  ],
  ['15 * * * *', 5 * MINUTE, [], '12:04', /Nothing was due at 2026-06-10 12:04 UTC/],
  [
    '15 * * * *',
    3 * HOUR + 20 * MINUTE,
    ['coalesced 3x 06-10T12:15..06-10T14:15', 'late 06-10T15:15'],
    '15:15',
    /ran late\. Started 5 min late/,
  ],
  ['15 * * * *', 3 * HOUR, ['missed 3x 06-10T12:15..06-10T14:15'], '14:15', /missed\..* 45 min late; up to 30 min/],
  ['15 * * * *', 3 * DAY, ['missed 72x 06-10T12:15..06-13T11:15'], '2026-06-11 09:15', /Due 72 times.*It was missed/],
  ['0 13 * * *', 5 * MINUTE, [], '12:00', /Nothing was due|has not been due/],
  ['0 13 * * *', 3 * HOUR, ['late 06-10T13:00'], '13:00', /Started 2 h late/],
  ['0 13 * * *', 4 * HOUR, ['missed 06-10T13:00'], '13:00', /missed.* 3 h late; up to 2 h would have been made up/],
  [
    '0 13 * * *',
    3 * DAY,
    ['missed 3x 06-10T13:00..06-12T13:00'],
    '2026-06-11 13:00',
    /Due 3 times.*missed.*23 h late; up to 2 h/,
  ],
  ['in 3m', 5 * MINUTE, ['late 06-10T12:03'], '12:03', /Started 2 min late|Started 120 s late/],
  ['in 90m', 3 * HOUR, ['late 06-10T13:30'], '13:30', /Started 90 min late|Started 1 h 30 min late/],
  ['in 90m', 3 * DAY, ['missed 06-10T13:30'], '2026-06-10 13:30', /missed.*up to 2 h would have been made up/],
  ['2026-06-10T18:00', 3 * DAY, ['missed 06-10T18:00'], '2026-06-10 18:00', /It was missed/],
];

for (const [schedule, awayMs, expected, time, sentence] of ROWS) {
  test(`"${schedule}" after ${awayMs / MINUTE} min of downtime`, async () => {
    const { house, job, slots } = await downtime({ schedule }, awayMs);
    assert.deepEqual(slots, expected);
    assert.match(await why(house, job, time), sentence);
  });
}

test('a job may say how late is too late', async () => {
  const strict = await downtime({ schedule: 'in 90m', graceMs: 0 }, 2 * HOUR);
  assert.deepEqual(strict.slots, ['missed 06-10T13:30']);
  const patient = await downtime({ schedule: '0 13 * * *', graceMs: 30 * HOUR }, 20 * HOUR);
  assert.deepEqual(patient.slots, ['late 06-10T13:00']);
});

test('a late run is told so, with both times', async () => {
  const { house, job } = await downtime({ schedule: '0 13 * * *', tz: 'Europe/Berlin' }, 20 * MINUTE);
  assert.deepEqual(await house.jobs.slots(job, 5), [], '13:00 in Berlin was before it was made');
  house.clock.pass(23 * HOUR);
  await house.restart().tick();
  const [slot] = await house.jobs.slots(job, 1);
  const run = await house.store.read(getRun({ id: slot?.runId ?? '' }));
  assert.match(
    run?.prompt ?? '',
    /^\(This run was due at 2026-06-11 13:00 UTC\+2 and starts late, at 2026-06-11 13:20 UTC\+2/,
  );
});

test('a reminder that was missed is told to its target, because nothing will come of it later', async () => {
  const { house, job } = await downtime({ schedule: 'in 90m', name: 'call Ann' }, 3 * DAY);
  const { deliveries } = await house.store.read(listDeliveries({ limit: 10 }));
  assert.equal(deliveries.length, 1);
  const text = (await house.store.read(getDelivery({ id: deliveries[0]?.id ?? '' })))?.text;
  assert.match(text ?? '', /Job "call Ann" was due at 2026-06-10 13:30 UTC and was missed/);
  assert.match(await why(house, job, undefined), /Nothing more is due/);
});

test('a clock that jumps ahead two hours follows the rule for missed times, and says why', async () => {
  const house = houseAt(NOON);
  const job = await make(house, { schedule: '5 * * * *' });
  house.scheduler.start();
  await idle();
  house.clock.set(NOON + 2 * HOUR + 10 * MINUTE);
  house.scheduler.wake();
  await idle();
  await house.scheduler.stop();
  assert.deepEqual(brief((await house.jobs.slots(job, 10)).reverse()), [
    'coalesced 2x 06-10T12:05..06-10T13:05',
    'running 06-10T14:05',
  ]);
  assert.match(await why(house, job, '13:05'), /The clock went forward by 2 h 10 min/);
});

test('a clock that jumps back two hours repeats nothing', async () => {
  const house = houseAt(NOON);
  const hourly = await make(house, { schedule: '5 * * * *' });
  const often = await make(house, { schedule: 'every 10m' });
  house.clock.pass(HOUR + 6 * MINUTE);
  await house.scheduler.tick();
  await house.answerAll({ answer: '', silent: true });
  const before = [brief(await house.jobs.slots(hourly, 50)), brief(await house.jobs.slots(often, 50))];
  house.clock.set(house.clock.now() - 2 * HOUR);
  for (let step = 0; step < 24; step += 1) {
    assert.equal(await house.scheduler.tick(), 0);
    house.clock.pass(5 * MINUTE - 1);
  }
  assert.deepEqual([brief(await house.jobs.slots(hourly, 50)), brief(await house.jobs.slots(often, 50))], before);
  house.clock.pass(20 * MINUTE);
  await house.scheduler.tick();
  assert.equal((await house.jobs.slots(often, 50)).length, before[1] ? before[1].length + 1 : 0, 'then it goes on');
});

test('a job set to an instant that already has a slot does not run again for it', async () => {
  const house = houseAt(NOON);
  const job = await make(house, { schedule: '0 13 * * *' });
  house.clock.pass(HOUR);
  await house.scheduler.tick();
  await house.answerAll({ answer: '', silent: true });
  house.clock.set(NOON + 30 * MINUTE);
  await house.jobs.edit(job.id, { schedule: '0 13 * * 1-5' }, person);
  house.clock.set(NOON + HOUR);
  await house.scheduler.tick();
  assert.equal(await house.answerAll(), 0);
  assert.deepEqual(brief(await house.jobs.slots(job, 10)), ['ran 06-10T13:00']);
});

// Zone, the night of the change, schedule, the instants that must be on record (UTC), a time to ask about, the answer.
const CHANGES: [string, string, string, string[], string, RegExp][] = [
  [
    'Europe/Berlin',
    '2026-03-28T20:00',
    '30 2 * * *',
    ['03-29T01:00'],
    '2026-03-29 02:30',
    /did not exist.*went from 02:00 to 03:00/,
  ],
  ['Europe/Berlin', '2026-03-28T20:00', '30 * * * *', hours('2026-03-28T20:30', 14), '2026-03-29 03:30', /It ran/],
  [
    'Europe/Berlin',
    '2026-10-24T20:00',
    '30 2 * * *',
    ['10-25T00:30'],
    '2026-10-25 02:30',
    /came twice.*first time only/,
  ],
  [
    'Europe/Berlin',
    '2026-10-24T20:00',
    '30 2 * * *',
    ['10-25T00:30'],
    '2026-10-25T01:30Z',
    /Nothing was due.*came twice/,
  ],
  [
    'Europe/Berlin',
    '2026-10-24T20:00',
    '30 * * * *',
    hours('2026-10-24T20:30', 14),
    '2026-10-25T01:30Z',
    /second pass/,
  ],
  ['America/New_York', '2026-03-08T00:00', '30 2 * * *', ['03-08T07:00'], '2026-03-08 02:30', /did not exist/],
  ['America/New_York', '2026-11-01T00:00', '30 1 * * *', ['11-01T05:30'], '2026-11-01 01:30', /came twice/],
  ['Australia/Lord_Howe', '2026-10-03T06:00', '15 2 * * *', ['10-03T15:30'], '2026-10-04 02:15', /from 02:00 to 02:30/],
  ['Australia/Lord_Howe', '2026-04-04T06:00', '45 1 * * *', ['04-04T14:45'], '2026-04-05 01:45', /came twice/],
  ['Africa/Cairo', '2026-04-23T12:00', '0 0 * * *', ['04-23T22:00'], '2026-04-24 00:00', /did not exist/],
];

for (const [zone, start, schedule, expected, time, sentence] of CHANGES) {
  test(`"${schedule}" in ${zone} in the night of ${start.slice(0, 10)}, asked about ${time}`, async () => {
    const house = houseAt(Date.parse(`${start}Z`));
    const job = await make(house, { schedule, tz: zone });
    for (let minute = 0; minute < 14 * 60; minute += 5) {
      house.clock.pass(5 * MINUTE);
      await house.scheduler.tick();
      await house.answerAll({ answer: '', silent: true });
    }
    const found = (await house.jobs.slots(job, 50)).reverse();
    assert.deepEqual(
      found.map(({ dueAt }) => new Date(dueAt).toISOString().slice(5, 16)),
      expected,
    );
    assert.ok(found.every(({ state }) => state === 'ran'));
    assert.match(await why(house, job, time), sentence);
  });
}

test('why tells of what has no row: too early, still to come, paused, and never recorded', async () => {
  const house = houseAt(NOON);
  const job = await make(house, { schedule: '0 * * * *' });
  house.clock.pass(10 * MINUTE);
  assert.match(await why(house, job, '2026-06-01 12:00'), /did not exist at 2026-06-01 12:00 UTC/);
  assert.match(await why(house, job, '2026-06-12 12:00'), /still to come/);
  assert.match(await why(house, job, undefined), /has not been due yet\. Next due: 2026-06-10 13:00 UTC \(in 50 min\)/);
  house.clock.pass(3 * HOUR);
  assert.match(await why(house, job, '13:00'), /due since 2026-06-10 13:00 UTC, and no gateway has recorded it/);
  await house.jobs.pause(job.id, 'On holiday.');
  house.clock.pass(3 * HOUR);
  assert.match(await why(house, job, '17:00'), /was paused at 2026-06-10 15:10 UTC\. On holiday/);
  await house.jobs.resume(job.id);
  assert.match(await why(house, job, '17:00'), /Due 3 times from 2026-06-10 16:00.*The job was paused\. On holiday/);
  assert.match(
    await why(house, job, '14:00'),
    /Due 3 times from 2026-06-10 13:00.*missed.*paused before the gateway got to it/,
  );
});

function hours(start: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) =>
    new Date(Date.parse(`${start}Z`) + index * HOUR).toISOString().slice(5, 16),
  );
}

const idle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));
