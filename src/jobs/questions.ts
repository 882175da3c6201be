// What can be asked about jobs and schedules without changing anything.

import { SvcError } from '../core/errors.ts';
import type { Clock } from '../core/time.ts';
import type { Store } from '../store/store.ts';
import { requireSchedule } from './job.ts';
import type { Jobs } from './jobs.ts';
import { type Due, nextDue } from './schedule.ts';
import { type Explanation, explain, readAskedTime } from './why.ts';

export interface Questions {
  /** Why the job ran or did not at that time; the last due time when none is named. Throws SvcError for what is no time. */
  why(key: string, time: string | undefined): Promise<Explanation>;
  /** The next due times of a schedule, or of a job when it is the name of one. Throws SvcError `schedule_invalid`. */
  preview(text: string, options: { tz?: string; count: number }): Promise<{ tz: string; dues: Due[] }>;
}

/** Jobs for whoever may never need them: nothing is opened before the first call. */
export interface JobAccess {
  jobs(): Promise<Jobs>;
  questions(): Promise<Questions>;
}

export function createQuestions(deps: {
  store: Store;
  clock: Pick<Clock, 'now'>;
  jobs: Jobs;
  zone: string | undefined;
}): Questions {
  const { store, clock, jobs } = deps;
  return {
    why: async (key, time) => {
      const job = await jobs.find(key);
      const now = clock.now();
      const asked = time === undefined ? undefined : readAskedTime(time, job, now);
      if (time !== undefined && asked === undefined) {
        throw new SvcError('usage', `"${time.slice(0, 60)}" is not a time.`, {
          help: 'Write it as "2026-03-29 02:30" (in the zone of the job), 2026-03-29T00:30Z or 09:00.',
        });
      }
      return explain(store, job, asked, now);
    },
    preview: async (text, { tz: given, count }) => {
      const now = clock.now();
      const job = given === undefined ? await jobs.findIfThere(text) : undefined;
      const zone = given ?? job?.tz ?? deps.zone;
      const { schedule, tz } = requireSchedule(job?.schedule ?? text, zone, job?.anchorAt ?? now, now);
      const dues: Due[] = [];
      for (let due = nextDue(schedule, now); due && dues.length < count; due = nextDue(schedule, due.at))
        dues.push(due);
      return { tz, dues };
    },
  };
}
