// The jobs of a house: everything a person, an agent or an event can do with them. Commands, the chat and the tool all come
// through here, so that a rule holds wherever a job is touched. Refusals are thrown as SvcError with the next step.

import type { Address } from '../core/address.ts';
import { SvcError } from '../core/errors.ts';
import type { Job, JobOptions, Slot, SlotCause } from '../core/job.ts';
import type { Clock, NewId } from '../core/time.ts';
import type { AddressState } from '../delivery/deliver.ts';
import { changeJob, createJob, findJob, type JobFilter, jobNamesLike, listJobs, removeJob } from '../store/jobs.ts';
import type { PassedSlots } from '../store/slot-rows.ts';
import { type FiringResult, fireSlot, slotsOf } from '../store/slots.ts';
import type { Store } from '../store/store.ts';
import { startOf } from './fire.ts';
import {
  DEFAULT_OPTIONS,
  deliveryWarnings,
  type JobDraft,
  type JobMaker,
  nameFrom,
  plainOptions,
  requireDeliver,
  requireName,
  requireOverlap,
  requirePositive,
  requirePrompt,
  requireSchedule,
} from './job.ts';
import { countDue, lastDue, nextDue, readSchedule } from './schedule.ts';
import { findScript } from './script.ts';

export interface JobsDeps {
  store: Store;
  clock: Pick<Clock, 'now'>;
  newId: NewId;
  /** `timezone` of the config; the zone of the machine when absent. */
  zone: string | undefined;
  /** `<home>/scripts`. */
  scripts: string;
  /** Why a skill cannot be loaded, or undefined. */
  skillProblem(name: string): Promise<string | undefined>;
  /** Why a name is no tool and no toolset, or undefined. */
  toolsetProblem(name: string): Promise<string | undefined>;
  addressState(address: Address): Promise<AddressState>;
  /** The table of jobs has changed. */
  onChange(): void;
  onRuns(): void;
}

/** Fields that are taken away again; the rest of an edit works as in a draft. */
export type Clearable = 'script' | 'model' | 'toolsets' | 'graceMs' | 'timeoutMs' | 'expectEveryMs';
export type JobEdit = Partial<JobDraft> & { clear?: readonly Clearable[] };

export interface FireOptions {
  cause: Exclude<SlotCause, 'schedule'>;
  /** The event behind it: one event starts a job at most once. */
  causeRef?: string;
  /** Text that the event brings along; it reaches the model fenced. */
  context?: string;
}

export type Fired = Exclude<FiringResult, { kind: 'stale' }> & { job: Job };

export interface Jobs {
  create(draft: JobDraft, maker: JobMaker): Promise<Job>;
  edit(key: string, edit: JobEdit, maker: JobMaker): Promise<Job>;
  pause(key: string, reason: string): Promise<Job>;
  resume(key: string): Promise<Job>;
  remove(key: string): Promise<Job>;
  /** By id or name. Throws SvcError `not_found` with names that are alike. */
  find(key: string): Promise<Job>;
  findIfThere(key: string): Promise<Job | undefined>;
  list(filter: JobFilter): Promise<Job[]>;
  /** What has to be set up before the answers of the job arrive, each with the command that does it. */
  warnings(job: Job): Promise<string[]>;
  slots(job: Job, limit: number): Promise<Slot[]>;
  /** Starts the job now; its own overlap rule holds. */
  fire(key: string, options: FireOptions): Promise<Fired>;
}

const RACES = 5;

export function createJobs(deps: JobsDeps): Jobs {
  const { store, clock } = deps;

  async function find(key: string): Promise<Job> {
    const job = await store.read(findJob({ key }));
    if (job) return job;
    const names = await store.read(jobNamesLike({ key }));
    const help = names.length > 0 ? `Did you mean ${names.join(' or ')}?` : '`svc cron list` shows all jobs.';
    throw new SvcError('not_found', `There is no job "${key.slice(0, 80)}".`, { help });
  }

  async function create(draft: JobDraft, maker: JobMaker): Promise<Job> {
    const now = clock.now();
    const { tz, anchorAt, nextRunAt } = requireSchedule(draft.schedule, draft.tz ?? deps.zone, now);
    const prompt = requirePrompt(draft.prompt);
    const enabled = draft.enabled ?? true;
    const expectEveryMs =
      draft.expectEveryMs === undefined ? undefined : requirePositive(draft.expectEveryMs, 'The expectation');
    const job: Job = {
      id: deps.newId('job'),
      name: draft.name === undefined ? nameFrom(prompt) : requireName(draft.name),
      schedule: draft.schedule.trim(),
      tz,
      anchorAt,
      prompt,
      overlap: requireOverlap(draft.overlap ?? 'skip'),
      options: {
        ...DEFAULT_OPTIONS,
        ...(maker.origin !== undefined && { deliver: 'origin', origin: maker.origin }),
        ...plainOptions(draft),
        ...(await checkedOptions(draft, maker, maker.origin)),
        ...rights(maker, undefined),
      },
      enabled,
      ...(!enabled && { pausedAt: now, pauseReason: 'It was made switched off.' }),
      revision: 1,
      nextRunAt,
      failures: 0,
      ...(expectEveryMs !== undefined && { expectEveryMs, alarmAt: now + expectEveryMs }),
      createdAt: now,
      updatedAt: now,
    };
    const made = await insert(job, draft.name === undefined);
    deps.onChange();
    return made;
  }

  /** A name that nobody chose gets a number when it is taken; a chosen one is refused. */
  async function insert(job: Job, mayRename: boolean): Promise<Job> {
    for (let number = 1; ; number += 1) {
      const named = number === 1 ? job : { ...job, name: `${job.name} ${number}` };
      const result = await store.write(createJob(named));
      if (result.kind === 'done') return named;
      if (!mayRename || number >= 1000) throw nameTaken(named.name);
    }
  }

  /** What can be checked only by looking at the machine: targets, skills, the script. */
  async function checkedOptions(
    draft: Partial<JobDraft>,
    maker: JobMaker,
    origin: Address | undefined,
  ): Promise<Partial<JobOptions>> {
    const checked: Partial<JobOptions> = {};
    if (draft.deliver !== undefined) checked.deliver = await requireDeliver(draft.deliver, origin, deps.addressState);
    if (draft.skills !== undefined) {
      for (const name of draft.skills) {
        const reason = await deps.skillProblem(name);
        if (reason !== undefined)
          throw new SvcError('skill_invalid', reason, { help: '`svc skills list` shows the skills that are there.' });
      }
      checked.skills = draft.skills;
    }
    for (const name of draft.toolsets ?? []) {
      const reason = await deps.toolsetProblem(name);
      if (reason !== undefined) throw new SvcError('invalid_input', reason, { help: 'E.g. `--toolsets web,files`.' });
    }
    if (draft.script !== undefined) {
      const places = { scripts: deps.scripts, confined: maker.kind === 'agent' };
      const found = await findScript(draft.script, { ...places, ...(maker.cwd !== undefined && { cwd: maker.cwd }) });
      if (found.kind === 'refused') throw new SvcError('invalid_input', found.reason, { help: found.help });
      checked.script = found.path;
      checked.confined = maker.kind === 'agent';
    }
    return checked;
  }

  async function edit(key: string, change: JobEdit, maker: JobMaker): Promise<Job> {
    return changing(key, async (job, now) => {
      const options: JobOptions = {
        ...job.options,
        ...plainOptions(change),
        ...(await checkedOptions(change, maker, job.options.origin)),
        ...rights(maker, job.options),
      };
      for (const field of change.clear ?? []) if (field !== 'expectEveryMs') delete options[field];
      const { expectEveryMs: _, alarmAt: __, ...rest } = job;
      const expectEveryMs = change.clear?.includes('expectEveryMs')
        ? undefined
        : (change.expectEveryMs ?? job.expectEveryMs);
      const edited: Job = {
        ...rest,
        ...(change.name !== undefined && { name: requireName(change.name) }),
        ...(change.prompt !== undefined && { prompt: requirePrompt(change.prompt) }),
        ...(change.overlap !== undefined && { overlap: requireOverlap(change.overlap) }),
        ...(expectEveryMs !== undefined && {
          expectEveryMs,
          alarmAt: change.expectEveryMs === undefined && job.alarmAt !== undefined ? job.alarmAt : now + expectEveryMs,
        }),
        options,
      };
      if (change.schedule === undefined && change.tz === undefined) return { job: edited };
      const set = requireSchedule(change.schedule ?? job.schedule, change.tz ?? job.tz, now);
      const { tz, anchorAt, nextRunAt } = set;
      const passed = passedUntil(job, now, 'missed', 'The schedule was changed before the gateway got to it.');
      const schedule = (change.schedule ?? job.schedule).trim();
      return { job: { ...edited, schedule, tz, anchorAt, nextRunAt }, ...(passed && { passed }) };
    });
  }

  async function pause(key: string, reason: string): Promise<Job> {
    return changing(key, async (job, now) => {
      if (!job.enabled) return { job };
      const paused: Job = { ...job, enabled: false, pausedAt: now, pauseReason: reason };
      const passed = passedUntil(job, now, 'missed', 'The job was paused before the gateway got to it.');
      if (!passed) return { job: paused };
      const { nextRunAt: _, ...rest } = paused;
      const reading = readSchedule(job.schedule, job.tz, job.anchorAt);
      const next = reading.kind === 'schedule' ? nextDue(reading.schedule, now) : undefined;
      return { job: { ...rest, ...(next && { nextRunAt: next.at }) }, passed };
    });
  }

  async function resume(key: string): Promise<Job> {
    return changing(key, async (job, now) => {
      if (job.enabled) return { job };
      const { pausedAt: _, pauseReason: __, alarmAt: ___, ...rest } = job;
      const reading = readSchedule(job.schedule, job.tz, job.anchorAt);
      if (reading.kind === 'invalid') throw new SvcError('schedule_invalid', reading.reason, { help: reading.help });
      const next = nextDue(reading.schedule, now);
      if (next === undefined) {
        throw new SvcError('conflict', `The time of "${job.name}" passed while it was paused.`, {
          help: `Give it a new one: svc cron edit ${job.id} --schedule "in 10m"`,
        });
      }
      const passed = passedUntil(job, now, 'paused', `The job was paused. ${job.pauseReason ?? ''}`.trim());
      return {
        job: {
          ...rest,
          enabled: true,
          failures: 0,
          nextRunAt: next.at,
          ...(job.expectEveryMs !== undefined && { alarmAt: now + job.expectEveryMs }),
        },
        ...(passed && { passed }),
      };
    });
  }

  /** Reads, changes and writes a job, again when somebody else was faster. */
  async function changing(
    key: string,
    change: (job: Job, now: number) => Promise<{ job: Job; passed?: PassedSlots }>,
  ): Promise<Job> {
    for (let race = 0; race < RACES; race += 1) {
      const now = clock.now();
      const before = await find(key);
      const { job, passed } = await change(before, now);
      if (job === before) return job;
      const changed = { ...job, updatedAt: now };
      const result = await store.write(changeJob({ job: changed, ...(passed && { passed }) }));
      if (result.kind === 'name_taken') throw nameTaken(job.name);
      if (result.kind === 'done') {
        deps.onChange();
        return { ...changed, revision: changed.revision + 1 };
      }
    }
    throw new SvcError('conflict', 'The job is being changed by others all the time.', { help: 'Try again.' });
  }

  async function fire(key: string, options: FireOptions): Promise<Fired> {
    for (let race = 0; race < RACES; race += 1) {
      const job = await find(key);
      const at = clock.now();
      const start = startOf(job, { dueAt: at, late: false, ...options }, deps.newId('run'), at);
      const reason = options.cause === 'manual' ? 'Started by hand.' : 'Started by an event.';
      const result = await store.write(
        fireSlot({ jobId: job.id, revision: job.revision, at, ...options, reason, start }),
      );
      if (result.kind === 'stale') continue;
      if (result.kind === 'started') deps.onRuns();
      if (result.kind === 'script') deps.onChange();
      return { ...result, job };
    }
    throw new SvcError('conflict', 'The job is being changed by others all the time.', { help: 'Try again.' });
  }

  return {
    create,
    edit,
    pause,
    resume,
    find,
    findIfThere: (key) => store.read(findJob({ key })),
    fire,
    remove: async (key) => {
      const job = await find(key);
      await store.write(removeJob({ id: job.id }));
      deps.onChange();
      return job;
    },
    list: (filter) => store.read(listJobs(filter)),
    warnings: (job) => deliveryWarnings(job.options.deliver, deps.addressState),
    slots: (job, limit) => store.read(slotsOf({ jobId: job.id, limit })),
  };
}

/** The due times of a job that have passed without a slot, as one row. */
function passedUntil(job: Job, now: number, state: 'missed' | 'paused', reason: string): PassedSlots | undefined {
  if (job.nextRunAt === undefined || job.nextRunAt > now) return undefined;
  const reading = readSchedule(job.schedule, job.tz, job.anchorAt);
  if (reading.kind === 'invalid') return undefined;
  const last = lastDue(reading.schedule, job.nextRunAt, now);
  const instants = countDue(reading.schedule, job.nextRunAt, last.at);
  return { dueAt: job.nextRunAt, lastDueAt: last.at, instants, state, reason };
}

/** An agent hands on no more than it has, also when it changes a job of somebody with more. */
function rights(maker: JobMaker, before: JobOptions | undefined): Pick<JobOptions, 'madeBy' | 'allowedTools'> {
  if (maker.kind === 'person') {
    return { madeBy: before?.madeBy ?? 'person', ...(before?.allowedTools && { allowedTools: before.allowedTools }) };
  }
  const own = maker.allowedTools ?? [];
  const allowed = before?.allowedTools;
  return {
    madeBy: before?.madeBy ?? 'agent',
    allowedTools: allowed ? own.filter((tool) => allowed.includes(tool)) : [...own],
  };
}

const nameTaken = (name: string): SvcError =>
  new SvcError('conflict', `There is a job named "${name}" already.`, {
    help: `Choose another --name, or change that one: svc cron edit "${name}" …`,
  });
