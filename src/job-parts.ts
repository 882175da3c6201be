// Joins what scheduled jobs need: the collection itself for everyone, and for the gateway the scheduler with its scripts.

import type { App } from './app.ts';
import { parseAddresses } from './core/address.ts';
import { messageOf, SvcError } from './core/errors.ts';
import { raiseAlarms } from './jobs/expectations.ts';
import { createJobs, type Fired, type FireOptions, type Jobs } from './jobs/jobs.ts';
import { createQuestions, type Questions } from './jobs/questions.ts';
import { createScheduler, type Scheduler } from './jobs/scheduler.ts';
import { runScript } from './jobs/script.ts';
import { createScripts, type Scripts } from './jobs/scripts.ts';
import { openReferences } from './references.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export interface JobListeners {
  /** The table of jobs has changed, or a slot waits for its script. */
  onChange(): void;
  onRuns(): void;
  onMessages(): void;
}

export interface JobParts {
  readonly jobs: Jobs;
  readonly questions: Questions;
  /** From now on these hear what happens; before, nobody does and nothing is lost: everybody also looks by themselves. */
  listen(listeners: JobListeners): void;
  scripts(): Scripts;
}

export async function openJobParts(app: App): Promise<JobParts> {
  const { config, environment } = await app.config();
  const store = await app.store();
  const { clock, newId, paths } = app;
  const log = app.log.child({ part: 'jobs' });
  let listeners: JobListeners = { onChange() {}, onRuns() {}, onMessages() {} };
  const jobs = createJobs({
    store,
    clock,
    newId,
    zone: config.timezone,
    scripts: paths.scripts,
    ...openReferences(app),
    onChange: () => listeners.onChange(),
    onRuns: () => listeners.onRuns(),
  });
  const makeScripts = (): Scripts =>
    createScripts({
      store,
      clock,
      newId,
      log,
      run: ({ job, slot }, signal) =>
        runScript({
          path: job.options.script ?? '',
          places: { scripts: paths.scripts, confined: job.options.confined ?? false },
          env: environment,
          facts: {
            SVC_HOME: paths.home,
            SVC_JOB_ID: job.id,
            SVC_JOB_NAME: job.name,
            SVC_DUE_AT: new Date(slot.dueAt).toISOString(),
          },
          timeoutMs: config.cron.script_timeout_s * 1000,
          signal,
        }),
      onRuns: () => listeners.onRuns(),
      onMessages: () => listeners.onMessages(),
    });
  return {
    jobs,
    questions: createQuestions({ store, clock, jobs, zone: config.timezone }),
    listen: (to) => {
      listeners = to;
    },
    scripts: makeScripts,
  };
}

/** The scheduler of a gateway, not started yet. */
export async function openScheduler(
  app: App,
  wake: { runs(): void; messages(): void },
): Promise<Pick<Scheduler, 'start' | 'stop'>> {
  const { config } = await app.config();
  const parts = await app.jobs();
  const store = await app.store();
  const { clock, newId } = app;
  const scripts = parts.scripts();
  const alarms = config.cron.alarm_deliver === undefined ? undefined : parseAddresses(config.cron.alarm_deliver);
  if (alarms?.kind === 'invalid') {
    throw new SvcError('config_invalid', `cron.alarm_deliver: ${alarms.reason}`, {
      help: 'Write it as target, target:chat or target:chat:thread.',
    });
  }
  const expectations = { store, newId, alarmAddresses: alarms?.addresses, onMessages: wake.messages };
  const scheduler: Scheduler = createScheduler({
    store,
    clock,
    newId,
    log: app.log.child({ part: 'jobs' }),
    onRuns: wake.runs,
    onMessages: wake.messages,
    onScripts: () => scripts.look(),
    onAlarms: (now) => raiseAlarms(expectations, now),
    keepMs: config.runs.keep_days * DAY_MS,
  });
  parts.listen({ onChange: scheduler.wake, onRuns: wake.runs, onMessages: wake.messages });
  return {
    start: scheduler.start,
    stop: async () => {
      await scheduler.stop();
      await scripts.stop();
    },
  };
}

/** For webhook routes that start a job. Never throws: what cannot be started is a value with its reason. */
export async function fireForEvent(
  app: App,
  key: string,
  event: Pick<FireOptions, 'context'> & { ref: string },
): Promise<{ kind: 'started'; runId?: string } | { kind: 'refused'; reason: string }> {
  try {
    const { ref, ...rest } = event;
    const fired: Fired = await (await app.jobs()).jobs.fire(key, { cause: 'webhook', causeRef: ref, ...rest });
    if (fired.kind === 'paused') return { kind: 'refused', reason: `The job "${fired.job.name}" is paused.` };
    // A skipped overlap is the job's own rule at work, recorded with its reason: sending again would not help.
    return { kind: 'started', ...(fired.slot.runId !== undefined && { runId: fired.slot.runId }) };
  } catch (error) {
    return { kind: 'refused', reason: messageOf(error) };
  }
}
