import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type JobHouse, jobHouse } from '../../test/support/job-house.ts';
import { SvcError } from '../core/errors.ts';
import { getRun } from '../store/runs.ts';
import { openMemoryStore } from '../store/sqlite/memory.ts';
import { jobToWire } from './job.ts';
import { readJobWords } from './job-words.ts';

const NOON = Date.UTC(2026, 5, 10, 12);
const HOUR = 3_600_000;
const person = { kind: 'person' } as const;
const chat = { target: 'chat', chatId: 'chat_1' };

const house = (): JobHouse => jobHouse({ store: openMemoryStore(), start: NOON });

const refused = (code: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof SvcError);
  assert.equal(error.code, code);
  assert.match(error.message, message);
  assert.ok(error.help, 'it says what to do next');
  return true;
};

test('a job has the record of the contract', async () => {
  const { jobs } = house();
  const job = await jobs.create(
    {
      schedule: '0 9 * * 1-5',
      prompt: 'Report',
      name: 'report',
      tz: 'Europe/Berlin',
      deliver: 'log',
      skills: ['known'],
      graceMs: HOUR,
      timeoutMs: 600_000,
    },
    person,
  );
  const wire = jobToWire(job);
  for (const key of [
    'id',
    'name',
    'schedule',
    'tz',
    'prompt',
    'deliver',
    'skills',
    'script',
    'model',
    'toolsets',
    'origin',
    'enabled',
    'grace',
    'overlap',
    'timeout_s',
    'created_at',
    'next_run_at',
    'last_run_at',
    'last_status',
    'last_error',
  ]) {
    assert.ok(key in wire, key);
  }
  assert.deepEqual(
    [wire.deliver, wire.grace, wire.timeout_s, wire.overlap, wire.next_run_at],
    ['log', '1h', 600, 'skip', '2026-06-11T07:00:00.000Z'],
  );
  assert.deepEqual(jobToWire(await jobs.find('REPORT')), wire, 'the name is found in any case, as it was stored');
  assert.deepEqual(jobToWire(await jobs.find(job.id)), wire);
});

test('answers go to the chat that made the job, else into the local folder', async () => {
  const { jobs } = house();
  assert.equal((await jobs.create({ schedule: '@daily', prompt: 'a' }, person)).options.deliver, 'local');
  const inChat = await jobs.create({ schedule: '@daily', prompt: 'b' }, { ...person, origin: chat });
  assert.equal(inChat.options.deliver, 'origin');
  assert.deepEqual(inChat.options.origin, chat);
  const named = await jobs.create(
    { schedule: '@daily', prompt: 'c', deliver: 'log,local' },
    { ...person, origin: chat },
  );
  assert.equal(named.options.deliver, 'log,local');
});

test('every form of a target reaches the run as addresses', async () => {
  const forms: [string, unknown[]][] = [
    ['local', [{ target: 'local' }]],
    ['log', [{ target: 'log' }]],
    ['sms:+15550100', [{ target: 'sms', chatId: '+15550100' }]],
    ['messenger_1:-100123:17', [{ target: 'messenger_1', chatId: '-100123', threadId: '17' }]],
    ['telegram', [{ target: 'telegram' }]],
    ['origin,email:a@example.org', [chat, { target: 'email', chatId: 'a@example.org' }]],
  ];
  for (const [deliver, expected] of forms) {
    const { jobs, scheduler, clock, store } = house();
    const job = await jobs.create({ schedule: 'every 1h', prompt: 'x', deliver }, { ...person, origin: chat });
    clock.pass(HOUR);
    await scheduler.tick();
    const [slot] = await jobs.slots(job, 1);
    assert.deepEqual((await store.read(getRun({ id: slot?.runId ?? '' })))?.addresses, expected, deliver);
  }
});

test('a chosen name is unique; a name that nobody chose gets a number', async () => {
  const { jobs } = house();
  await jobs.create({ schedule: '@daily', prompt: 'Look at it', name: 'Look' }, person);
  await assert.rejects(
    jobs.create({ schedule: '@daily', prompt: 'x', name: 'look' }, person),
    refused('conflict', /named "look" already/),
  );
  const names = [];
  for (let count = 0; count < 3; count += 1)
    names.push((await jobs.create({ schedule: '@daily', prompt: 'Tell\nme' }, person)).name);
  assert.deepEqual(names, ['Tell me', 'Tell me 2', 'Tell me 3']);
});

test('bad input is refused with a code, a reason and the next step, and nothing is stored', async () => {
  const { jobs } = house();
  const draft = { schedule: '@daily', prompt: 'x' };
  const cases: [Parameters<typeof jobs.create>[0], string, RegExp][] = [
    [{ ...draft, schedule: 'every 0m' }, 'schedule_invalid', /no time at all/],
    [{ ...draft, schedule: '0 0 31 2 *' }, 'schedule_invalid', /never fires/],
    [{ ...draft, schedule: 'x'.repeat(1_000_000) }, 'schedule_invalid', /1000000 characters/],
    [{ ...draft, schedule: '2020-01-01T00:00' }, 'schedule_invalid', /in the past/],
    [{ ...draft, tz: 'Nowhere/Land' }, 'schedule_invalid', /no time zone/],
    [{ ...draft, prompt: ' ' }, 'invalid_input', /prompt is empty/],
    [{ ...draft, prompt: 'x'.repeat(200_000) }, 'invalid_input', /200000 characters/],
    [{ ...draft, name: '' }, 'invalid_input', /1 to 64 visible/],
    [{ ...draft, name: 'a\u202eb' }, 'invalid_input', /visible/],
    [{ ...draft, name: 'job_x' }, 'invalid_input', /look like ids/],
    [{ ...draft, deliver: 'nowhere:1' }, 'invalid_input', /delivered to nowhere:1: There is no target/],
    [{ ...draft, toolsets: ['nosuch'] }, 'invalid_input', /no tool or toolset nosuch/],
    [{ ...draft, deliver: ':' }, 'invalid_input', /empty/],
    [{ ...draft, deliver: 'origin' }, 'invalid_input', /this is none/],
    [{ ...draft, skills: ['unknown'] }, 'skill_invalid', /no skill unknown/],
    [{ ...draft, script: 'nothing.sh' }, 'invalid_input', /no script/],
    [{ ...draft, overlap: 'maybe' }, 'invalid_input', /not an overlap rule/],
    [{ ...draft, retries: 11 }, 'invalid_input', /0 to 10/],
    [{ ...draft, timeoutMs: 0 }, 'invalid_input', /more than nothing/],
    [{ ...draft, expectEveryMs: 0 }, 'invalid_input', /more than nothing/],
  ];
  for (const [bad, code, message] of cases) await assert.rejects(jobs.create(bad, person), refused(code, message));
  assert.deepEqual(await jobs.list({ limit: 10 }), []);
  await assert.rejects(jobs.find('nobody'), refused('not_found', /no job "nobody"/));
  assert.throws(() => readJobWords({ grace: 'soon' }), refused('invalid_input', /not a length of time for --grace/));
});

test('a job that an agent makes or changes never gets more tools than the agent has', async () => {
  const { jobs } = house();
  const agent = { kind: 'agent', origin: chat, allowedTools: ['web_fetch', 'read_file'] } as const;
  const made = await jobs.create({ schedule: '@daily', prompt: 'x', toolsets: ['core'] }, agent);
  assert.deepEqual(made.options.allowedTools, ['web_fetch', 'read_file']);
  const mine = await jobs.create({ schedule: '@daily', prompt: 'mine', toolsets: ['core'] }, person);
  assert.equal(mine.options.allowedTools, undefined);
  const changed = await jobs.edit(mine.id, { prompt: 'theirs' }, agent);
  assert.deepEqual(changed.options.allowedTools, ['web_fetch', 'read_file']);
  const narrower = await jobs.edit(mine.id, { prompt: 'again' }, { ...agent, allowedTools: ['read_file', 'terminal'] });
  assert.deepEqual(narrower.options.allowedTools, ['read_file']);
  const back = await jobs.edit(mine.id, { prompt: 'mine again' }, person);
  assert.deepEqual(back.options.allowedTools, ['read_file'], 'a person who edits does not widen it by accident');
  await assert.rejects(
    jobs.create({ schedule: '@daily', prompt: 'x', script: process.execPath }, agent),
    refused('invalid_input', /leads out of/),
  );
});

test('an edit keeps what it does not name; a new schedule counts from now', async () => {
  const { jobs, clock } = house();
  const job = await jobs.create(
    { schedule: 'every 2h', prompt: 'x', name: 'n', deliver: 'log', graceMs: HOUR, expectEveryMs: 5 * HOUR },
    person,
  );
  clock.pass(HOUR);
  const edited = await jobs.edit('n', { prompt: 'y' }, person);
  assert.deepEqual(
    [edited.prompt, edited.nextRunAt, edited.options.deliver, edited.alarmAt],
    ['y', NOON + 2 * HOUR, 'log', NOON + 5 * HOUR],
  );
  const cleared = await jobs.edit('n', readJobWords({ grace: 'none', expectEvery: 'none', skills: '' }), person);
  assert.deepEqual(
    [cleared.options.graceMs, cleared.expectEveryMs, cleared.alarmAt, cleared.options.skills],
    [undefined, undefined, undefined, []],
  );
  const moved = await jobs.edit('n', { schedule: 'every 3h' }, person);
  assert.equal(moved.nextRunAt, NOON + 4 * HOUR);
  assert.equal(moved.id, job.id);
  await jobs.create({ schedule: '@daily', prompt: 'x', name: 'other' }, person);
  await assert.rejects(jobs.edit('n', { name: 'Other' }, person), refused('conflict', /already/));
});

test('a due time that was not recorded before its schedule was changed is on record as missed', async () => {
  const { jobs, clock } = house();
  const job = await jobs.create({ schedule: 'every 1h', prompt: 'x' }, person);
  clock.pass(3 * HOUR + 1000);
  await jobs.edit(job.id, { schedule: '@daily' }, person);
  const [slot] = await jobs.slots(job, 5);
  assert.deepEqual([slot?.state, slot?.instants], ['missed', 3]);
  assert.match(slot?.reason ?? '', /schedule was changed/);
});

test('pausing and resuming twice changes nothing; a reminder whose time passed meanwhile says so', async () => {
  const { jobs, scheduler, clock } = house();
  const job = await jobs.create({ schedule: 'in 1h', prompt: 'x' }, person);
  const paused = await jobs.pause(job.id, 'First.');
  assert.equal((await jobs.pause(job.id, 'Second.')).pauseReason, 'First.');
  clock.pass(30 * 60_000);
  const resumed = await jobs.resume(job.id);
  assert.deepEqual([resumed.enabled, resumed.nextRunAt, resumed.pauseReason], [true, paused.nextRunAt, undefined]);
  assert.equal((await jobs.resume(job.id)).revision, resumed.revision);
  await jobs.pause(job.id, 'Again.');
  clock.pass(HOUR);
  assert.equal(await scheduler.tick(), 0, 'a paused job is not due');
  await assert.rejects(jobs.resume(job.id), refused('conflict', /passed while it was paused/));
});

test('a job that was removed is gone with its slots, and its name is free again', async () => {
  const { jobs, scheduler, clock } = house();
  const job = await jobs.create({ schedule: 'every 1h', prompt: 'x', name: 'gone' }, person);
  clock.pass(HOUR);
  await scheduler.tick();
  await jobs.remove('gone');
  assert.deepEqual(await jobs.slots(job, 5), []);
  await assert.rejects(jobs.find('gone'), refused('not_found', /gone/));
  await jobs.create({ schedule: '@daily', prompt: 'x', name: 'gone' }, person);
});

test('a job whose schedule cannot be read any more is paused with the reason, and the others fire', async () => {
  const { jobs, scheduler, clock, store } = house();
  const bad = await jobs.create({ schedule: 'every 1h', prompt: 'bad' }, person);
  const good = await jobs.create({ schedule: 'every 1h', prompt: 'good' }, person);
  const { changeJob } = await import('../store/jobs.ts');
  await store.write(changeJob({ job: { ...bad, schedule: 'whenever' } }));
  clock.pass(HOUR);
  await scheduler.tick();
  const paused = await jobs.find(bad.id);
  assert.equal(paused.enabled, false);
  assert.match(paused.pauseReason ?? '', /five fields/);
  assert.equal((await jobs.slots(good, 1))[0]?.state, 'running');
});
