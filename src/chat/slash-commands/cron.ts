// /cron: scheduled jobs from the chat. Jobs made here answer into this chat unless told otherwise.

import { parseArgs } from 'node:util';
import { messageOf, SvcError } from '../../core/errors.ts';
import type { Job } from '../../core/job.ts';
import { type JobWords, readJobWords } from '../../jobs/job-words.ts';
import type { JobAccess } from '../../jobs/questions.ts';
import { showInstant } from '../../jobs/zone.ts';
import type { SlashCommand, SlashContext } from '../slash-command.ts';

const USAGE =
  '/cron list | create "<schedule>" "<prompt>" [--name …] | show | edit | pause | resume | run | remove | runs | why | next';
const SHOWN = 10;
const TEXT_OPTIONS = [
  'name',
  'deliver',
  'skills',
  'script',
  'tz',
  'grace',
  'overlap',
  'timeout',
  'retries',
  'expect-every',
  'model',
  'toolsets',
  'schedule',
  'prompt',
] as const;

export const createCronCommand = (deps: JobAccess): SlashCommand => ({
  name: 'cron',
  summary: 'Make, list and change scheduled jobs.',
  usage: USAGE,
  keepsSession: true,
  async run([action = 'list', ...words], context) {
    const { positionals, options } = readOptions(words);
    for (const line of await act(action, positionals, options, context, deps)) context.print(line);
    return undefined;
  },
});

async function act(
  action: string,
  words: readonly string[],
  options: JobWords,
  { origin }: SlashContext,
  deps: JobAccess,
): Promise<string[]> {
  const jobs = await deps.jobs();
  const key = (): string => required(words[0], `/cron ${action} needs the id or name of a job.`);
  const maker = { kind: 'person' as const, origin };
  switch (action) {
    case 'list': {
      const all = await jobs.list({ limit: 100 });
      return all.length === 0 ? ['No jobs yet. Make one: /cron create "every 1h" "…"'] : all.map(line);
    }
    case 'create':
    case 'add': {
      const schedule = required(words[0], 'A job needs a schedule.');
      const prompt = required(words[1], 'A job needs a prompt, in quotes.');
      const job = await jobs.create({ ...readJobWords(options), schedule, prompt }, maker);
      return [`Made ${line(job)}`];
    }
    case 'edit':
      return [`Changed ${line(await jobs.edit(key(), readJobWords(options), maker))}`];
    case 'show':
      return details(await jobs.find(key()));
    case 'pause':
      return [`Paused ${line(await jobs.pause(key(), 'Paused by hand.'))}`];
    case 'resume':
      return [`Resumed ${line(await jobs.resume(key()))}`];
    case 'remove':
    case 'rm':
      return [`Removed ${(await jobs.remove(key())).name}.`];
    case 'run': {
      const fired = await jobs.fire(key(), { cause: 'manual' });
      return [fired.kind === 'skipped_overlap' ? `Not started. ${fired.slot.reason}` : `Started ${fired.job.name}.`];
    }
    case 'runs': {
      const job = await jobs.find(key());
      const slots = await jobs.slots(job, SHOWN);
      if (slots.length === 0) return ['It has not been due yet.'];
      return slots.map((slot) => `${showInstant(job.tz, slot.dueAt)}  ${slot.state}  ${slot.reason}`);
    }
    case 'why':
      return (await (await deps.questions()).why(key(), words.slice(1).join(' ') || undefined)).sentences;
    case 'next': {
      const text = required(words.join(' ') || undefined, '/cron next needs a schedule or a job.');
      const tz = options.tz === undefined ? {} : { tz: options.tz };
      const preview = await (await deps.questions()).preview(text, { ...tz, count: SHOWN });
      return preview.dues.map(
        ({ at, note }) => `${showInstant(preview.tz, at)}${note === undefined ? '' : `  ${note}`}`,
      );
    }
    default:
      throw new SvcError('usage', `There is no /cron ${action}.`, { help: USAGE });
  }
}

function line(job: Job): string {
  const next = job.nextRunAt === undefined ? 'done' : `next ${showInstant(job.tz, job.nextRunAt)}`;
  return `${job.name} (${job.id}): ${job.schedule}, ${job.enabled ? next : 'paused'}, to ${job.options.deliver}`;
}

const details = (job: Job): string[] => [
  line(job),
  `prompt: ${job.prompt}`,
  ...(job.options.script === undefined ? [] : [`script: ${job.options.script}`]),
  ...(job.options.skills.length === 0 ? [] : [`skills: ${job.options.skills.join(', ')}`]),
  `last: ${job.lastStatus ?? 'never ran'}${job.lastError === undefined ? '' : ` (${job.lastError})`}`,
];

function readOptions(words: readonly string[]): { positionals: string[]; options: JobWords } {
  const text = { type: 'string' } as const;
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      options: { ...Object.fromEntries(TEXT_OPTIONS.map((name) => [name, text])), disabled: { type: 'boolean' } },
      allowPositionals: true,
    });
    const { 'expect-every': expectEvery, ...rest } = values as Record<string, string>;
    return { positionals, options: { ...rest, ...(expectEvery !== undefined && { expectEvery }) } };
  } catch (error) {
    throw new SvcError('usage', messageOf(error), { help: USAGE });
  }
}

function required(value: string | undefined, message: string): string {
  if (value !== undefined) return value;
  throw new SvcError('usage', message, { help: 'E.g. /cron create "0 9 * * 1-5" "Summarise my issues" --name report' });
}
