import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobHouse } from '../../../test/support/job-house.ts';
import { createQuestions } from '../../jobs/questions.ts';
import { openMemoryStore } from '../../store/sqlite/memory.ts';
import { createCronCommand } from './cron.ts';

function chat() {
  const store = openMemoryStore();
  const { jobs, clock } = jobHouse({ store, start: Date.UTC(2026, 5, 10, 12) });
  const questions = createQuestions({ store, clock, jobs, zone: 'UTC' });
  const command = createCronCommand({ jobs: async () => jobs, questions: async () => questions });
  const type = async (...words: string[]): Promise<string> => {
    const lines: string[] = [];
    await command.run(words, {
      sessionId: 'chat_1',
      origin: { target: 'chat', chatId: 'chat_1' },
      signal: new AbortController().signal,
      print: (line) => lines.push(line),
    });
    return lines.join('\n');
  };
  return { type, jobs };
}

test('/cron makes, lists, changes, starts, explains and removes jobs', async () => {
  const { type } = chat();
  assert.match(await type(), /No jobs yet/);
  const made = await type('create', '0 9 * * *', 'Write the report', '--name', 'report', '--expect-every', '26h');
  assert.match(made, /^Made report \(job_\S+\): 0 9 \* \* \*, next 2026-06-11 09:00 UTC, to origin$/);
  assert.match(await type('list'), /^report /);
  assert.match(await type('edit', 'report', '--tz', 'Europe/Berlin'), /next 2026-06-11 09:00 UTC\+2/);
  assert.match(await type('show', 'report'), /prompt: Write the report/);
  assert.match(await type('pause', 'report'), /paused/);
  assert.match(await type('resume', 'report'), /^Resumed report/);
  assert.match(await type('run', 'report'), /^Started report/);
  assert.match(await type('run', 'report'), /^Not started\. The due time/);
  assert.match(await type('runs', 'report'), /skipped_overlap/);
  assert.match(await type('why', 'report'), /skipped, because/);
  assert.match(await type('next', '@daily', '--tz', 'UTC'), /^2026-06-11 00:00 UTC\n/);
  assert.equal(await type('remove', 'report'), 'Removed report.');
});

test('a job made in the chat belongs to the person, with the chat as its origin', async () => {
  const { type, jobs } = chat();
  await type('create', 'in 5m', 'Say hello', '--name', 'hello');
  const { options } = await jobs.find('hello');
  assert.deepEqual([options.madeBy, options.allowedTools, options.origin?.chatId], ['person', undefined, 'chat_1']);
});

test('what is not understood is refused with the usage', async () => {
  const { type } = chat();
  for (const words of [
    ['frobnicate'],
    ['create'],
    ['create', '@daily'],
    ['create', '@daily', 'x', '--wrong', '1'],
    ['show'],
  ]) {
    await assert.rejects(type(...words), { code: 'usage' }, words.join(' '));
  }
  await assert.rejects(type('create', 'every 0m', 'x'), { code: 'schedule_invalid' });
});
