// cronjob: scheduled jobs as the agent can make and change them. A job never gets more tools than the task that made it, and
// tasks that hold text from outside do not get this tool at all.

import { z } from 'zod';
import { defineTool, type Tool, type ToolContext } from '../agent/tool.ts';
import { SvcError } from '../core/errors.ts';
import { jobToWire } from '../jobs/job.ts';
import { type JobWords, readJobWords } from '../jobs/job-words.ts';
import type { JobAccess, Questions } from '../jobs/questions.ts';
import { slotToWire } from '../jobs/slot-wire.ts';
import { showInstant } from '../jobs/zone.ts';

const ACTIONS = ['create', 'list', 'show', 'edit', 'pause', 'resume', 'run', 'remove', 'runs', 'why', 'next'] as const;
const SHOWN = 20;
const SHOWN_NEXT = 3;

const text = (description: string) => z.string().describe(description).optional();

const input = z.object({
  action: z.enum(ACTIONS),
  job: text('Id or name of the job; for every action but create, list and next.'),
  schedule: text(
    'every 15m, every 6h, every 2d, in 30m (once), five cron fields such as 0 9 * * 1-5, @daily, or an ISO time (once).',
  ),
  prompt: text('What the job is to do each time. It sees nothing of this conversation: say everything it needs.'),
  name: text('A short name.'),
  tz: text('IANA time zone of the schedule, e.g. Europe/Berlin.'),
  deliver: text('Where answers go: origin (this chat), local, or target:chat. Default: this chat.'),
  skills: text('Skills to load, separated by commas.'),
  script: text('A file in the scripts folder that runs first; its output is put in front of the prompt.'),
  overlap: text('When the last run is not done: skip, queue or parallel.'),
  grace: text('How late a missed time is still made up, e.g. 30m.'),
  timeout: text('Time limit of a run, e.g. 10m.'),
  expect_every: text('Raise an alarm when there was no success for this long, e.g. 26h.'),
  time: text('For why: the due time, e.g. "2026-03-29 02:30" or 09:00.'),
});
type Input = z.infer<typeof input>;

export const createCronjob = (access: JobAccess): Tool =>
  defineTool({
    name: 'cronjob',
    description:
      'Scheduled jobs: a prompt that runs by itself, once or again and again, and where its answer goes. ' +
      'Use it for reminders, reports and checks that the user asks for; "next" previews a schedule.',
    input,
    toolsets: ['cron'],
    untrusted: 'never',
    parallel: false,
    async run(call, context) {
      try {
        return { output: JSON.stringify({ success: true, ...(await act(call, context, access)) }) };
      } catch (error) {
        if (!(error instanceof SvcError)) throw error;
        const { code, message, help } = error;
        return { output: JSON.stringify({ success: false, error: { code, message, help } }), failed: true };
      }
    },
  });

async function act(call: Input, context: ToolContext, access: JobAccess): Promise<object> {
  const [jobs, questions] = await Promise.all([access.jobs(), access.questions()]);
  const maker = {
    kind: 'agent' as const,
    ...(context.origin !== undefined && { origin: context.origin }),
    allowedTools: context.grantedTools,
  };
  const key = (): string => required(call.job, 'job');
  switch (call.action) {
    case 'create': {
      const schedule = required(call.schedule, 'schedule');
      const prompt = required(call.prompt, 'prompt');
      const job = await jobs.create({ ...readJobWords(wordsOf(call)), schedule, prompt }, maker);
      const warnings = await jobs.warnings(job);
      return { job: jobToWire(job), next: await upcoming(questions, job.id), ...(warnings.length > 0 && { warnings }) };
    }
    case 'edit':
      return { job: jobToWire(await jobs.edit(key(), readJobWords(wordsOf(call)), maker)) };
    case 'list':
      return { jobs: (await jobs.list({ limit: 100 })).map(jobToWire) };
    case 'show':
      return { job: jobToWire(await jobs.find(key())) };
    case 'pause':
      return { job: jobToWire(await jobs.pause(key(), 'Paused by the agent.')) };
    case 'resume':
      return { job: jobToWire(await jobs.resume(key())) };
    case 'remove':
      return { removed: (await jobs.remove(key())).id };
    case 'run': {
      const fired = await jobs.fire(key(), { cause: 'manual' });
      return { result: fired.kind, slot: slotToWire(fired.slot) };
    }
    case 'runs':
      return { slots: (await jobs.slots(await jobs.find(key()), SHOWN)).map(slotToWire) };
    case 'why':
      return { why: (await questions.why(key(), call.time)).sentences };
    case 'next': {
      const tz = call.tz === undefined ? {} : { tz: call.tz };
      const preview = await questions.preview(required(call.schedule ?? call.job, 'schedule'), { ...tz, count: 10 });
      return { tz: preview.tz, next: preview.dues.map(({ at, note }) => ({ due: showInstant(preview.tz, at), note })) };
    }
  }
}

async function upcoming(questions: Questions, jobId: string): Promise<string[]> {
  const { tz, dues } = await questions.preview(jobId, { count: SHOWN_NEXT });
  return dues.map(({ at }) => showInstant(tz, at));
}

function wordsOf({ action: _, job: __, time: ___, expect_every: expectEvery, ...words }: Input): JobWords {
  const given = Object.entries({ ...words, expectEvery }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as JobWords;
}

function required(value: string | undefined, name: string): string {
  if (value !== undefined && value.trim() !== '') return value;
  throw new SvcError('usage', `This action needs "${name}".`, { help: `Call again with ${name}.` });
}
