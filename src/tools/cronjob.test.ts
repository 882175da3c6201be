import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobHouse } from '../../test/support/job-house.ts';
import type { ToolContext } from '../agent/tool.ts';
import { createQuestions } from '../jobs/questions.ts';
import { openMemoryStore } from '../store/sqlite/memory.ts';
import { createCronjob } from './cronjob.ts';

const context: ToolContext = {
  taskId: 'chat_1',
  trust: 'person',
  grantedTools: ['web_fetch', 'cronjob'],
  origin: { target: 'chat', chatId: 'chat_1' },
  signal: new AbortController().signal,
};

function tool() {
  const store = openMemoryStore();
  const { jobs, clock } = jobHouse({ store, start: Date.UTC(2026, 5, 10, 12) });
  const questions = createQuestions({ store, clock, jobs, zone: 'UTC' });
  const cronjob = createCronjob({ jobs: async () => jobs, questions: async () => questions });
  const call = async (input: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const { output, failed } = await cronjob.run(cronjob.input.parse(input), context);
    return { ...(JSON.parse(output) as Record<string, unknown>), failed };
  };
  return { cronjob, call, jobs };
}

test('the tool offers every action of the command', async () => {
  const { call } = tool();
  const made = await call({
    action: 'create',
    schedule: '0 9 * * *',
    prompt: 'Report',
    name: 'report',
    grace: '30m',
    expect_every: '26h',
  });
  const job = made.job as Record<string, unknown>;
  assert.deepEqual(
    [made.success, job.deliver, job.origin, job.grace, job.expect_every],
    [true, 'origin', 'chat:chat_1', '30m', '26h'],
  );
  assert.deepEqual(made.next, ['2026-06-11 09:00 UTC', '2026-06-12 09:00 UTC', '2026-06-13 09:00 UTC']);
  assert.equal(((await call({ action: 'list' })).jobs as unknown[]).length, 1);
  assert.equal(
    ((await call({ action: 'edit', job: 'report', schedule: '@hourly' })).job as { schedule: string }).schedule,
    '@hourly',
  );
  assert.equal(((await call({ action: 'pause', job: 'report' })).job as { enabled: boolean }).enabled, false);
  assert.equal(((await call({ action: 'resume', job: 'report' })).job as { enabled: boolean }).enabled, true);
  assert.equal((await call({ action: 'run', job: 'report' })).result, 'started');
  assert.equal((await call({ action: 'run', job: 'report' })).result, 'skipped_overlap');
  assert.equal(((await call({ action: 'runs', job: 'report' })).slots as unknown[]).length, 2);
  assert.match(
    JSON.stringify((await call({ action: 'why', job: 'report' })).why),
    /skipped, because the job was still busy/,
  );
  assert.equal(((await call({ action: 'next', schedule: '@daily' })).next as unknown[]).length, 10);
  assert.equal(((await call({ action: 'show', job: 'report' })).job as { made_by: string }).made_by, 'agent');
  assert.ok((await call({ action: 'remove', job: 'report' })).removed);
});

test('a refusal tells the model the code, the reason and the next step', async () => {
  const { call } = tool();
  for (const input of [
    { action: 'create', schedule: 'every 0m', prompt: 'x' },
    { action: 'create', schedule: '@daily' },
    { action: 'create', schedule: '@daily', prompt: 'x', script: '/etc/passwd' },
    { action: 'show', job: 'nobody' },
    { action: 'why' },
  ]) {
    const refused = await call(input);
    const error = refused.error as { code: string; message: string; help: string };
    assert.deepEqual([refused.success, refused.failed], [false, true], JSON.stringify(input));
    assert.ok(error.code && error.message && error.help);
  }
});

test('a job of the agent is capped to the tools of the agent', async () => {
  const { call, jobs } = tool();
  await call({ action: 'create', schedule: '@daily', prompt: 'x', name: 'capped' });
  assert.deepEqual((await jobs.find('capped')).options.allowedTools, ['web_fetch', 'cronjob']);
});

test('runs that hold text from outside never have it', () => {
  assert.equal(tool().cronjob.untrusted, 'never');
});
