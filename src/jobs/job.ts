// What a job may be: the rules that a draft must meet before it becomes a job, and the shape in which jobs are shown.

import { type Address, formatAddress, parseAddresses } from '../core/address.ts';
import { SvcError } from '../core/errors.ts';
import { type Job, type JobOptions, OVERLAP_POLICIES, type OverlapPolicy } from '../core/job.ts';
import type { AddressState } from '../delivery/deliver.ts';
import { nextDue, readSchedule, type Schedule } from './schedule.ts';
import { writeSpan } from './span.ts';

/** What a maker says about a job; what is left out gets its default. */
export interface JobDraft {
  schedule: string;
  prompt: string;
  name?: string;
  tz?: string;
  deliver?: string;
  skills?: string[];
  script?: string;
  model?: string;
  toolsets?: string[];
  graceMs?: number;
  overlap?: string;
  timeoutMs?: number;
  retries?: number;
  expectEveryMs?: number;
  enabled?: boolean;
}

/** Who makes or changes a job, and what that one may hand on. */
export interface JobMaker {
  kind: 'person' | 'agent';
  /** The chat it happens in. */
  origin?: Address;
  /** The folder the person is in. */
  cwd?: string;
  /** An agent's own tools: its jobs never get others. */
  allowedTools?: readonly string[];
}

const MAX_PROMPT = 100_000;
const MAX_NAME = 64;
const DEFAULT_NAME = 40;
const DEFAULT_RETRIES = 2;
const MAX_RETRIES = 10;

/** The schedule of a job that is being made or changed: it must be readable and have a next due time. */
export function requireSchedule(
  text: string,
  zone: string | undefined,
  setAt: number,
  now = setAt,
): { schedule: Schedule; tz: string; anchorAt: number; nextRunAt: number } {
  // Whole seconds: due times that people read, and no meeting with the instants of runs started by hand.
  const anchorAt = Math.floor(setAt / 1000) * 1000;
  const reading = readSchedule(text, zone, anchorAt);
  if (reading.kind === 'invalid') throw new SvcError('schedule_invalid', reading.reason, { help: reading.help });
  const next = nextDue(reading.schedule, now);
  if (next === undefined) {
    throw new SvcError('schedule_invalid', `\`${text.trim()}\` is in the past.`, {
      help: 'Give a time that is still to come, e.g. `in 10m`.',
    });
  }
  return { schedule: reading.schedule, tz: reading.zone, anchorAt, nextRunAt: next.at };
}

export function requirePrompt(prompt: string): string {
  if (prompt.trim() === '')
    throw invalid('The prompt is empty.', 'Say what is to be done, e.g. "Summarise the open issues".');
  if (prompt.length > MAX_PROMPT)
    throw invalid(
      `The prompt has ${prompt.length} characters; the limit is ${MAX_PROMPT}.`,
      'Put the rest into a skill.',
    );
  return prompt;
}

export function requireName(name: string): string {
  const trimmed = name.trim();
  if (trimmed === '' || Array.from(trimmed).length > MAX_NAME || /\p{C}/u.test(trimmed))
    throw invalid(`A name has 1 to ${MAX_NAME} visible characters.`, 'Use for example `--name morning-report`.');
  if (/^job_/i.test(trimmed)) throw invalid('Names that begin with job_ look like ids.', 'Choose another name.');
  return trimmed;
}

/** A name for a job that was given none: how its prompt begins. */
export function nameFrom(prompt: string): string {
  const line = prompt.trim().replace(/\p{C}/gu, ' ').replace(/\s+/g, ' ');
  const start = Array.from(line).slice(0, DEFAULT_NAME).join('').trim();
  return /^job_/i.test(start) || start === '' ? 'Job' : start;
}

/**
 * Reads the targets and returns the text as written. `origin` needs a chat to come back to. A platform that is not set up
 * yet is no reason to refuse: `deliveryWarnings` tells of it.
 */
export async function requireDeliver(
  deliver: string,
  origin: Address | undefined,
  stateOf: (address: Address) => Promise<AddressState>,
): Promise<string> {
  const parsed = parseAddresses(deliver);
  if (parsed.kind === 'invalid') throw invalid(parsed.reason, 'E.g. `--deliver local` or `--deliver telegram:12345`.');
  for (const address of parsed.addresses) {
    if (address.target === 'origin') {
      if (origin === undefined)
        throw invalid(
          '`origin` means the chat that makes the job, and this is none.',
          'Name a target, or use `local`.',
        );
      continue;
    }
    const state = await stateOf(address);
    if (state.kind === 'wrong' || state.kind === 'unknown')
      throw invalid(
        `Nothing can be delivered to ${formatAddress(address)}: ${state.reason}`,
        '`svc platforms list` shows the targets; `local` always works.',
      );
  }
  return deliver.trim();
}

export async function deliveryWarnings(
  deliver: string,
  stateOf: (address: Address) => Promise<AddressState>,
): Promise<string[]> {
  const parsed = parseAddresses(deliver);
  const addresses = parsed.kind === 'ok' ? parsed.addresses.filter(({ target }) => target !== 'origin') : [];
  const states = await Promise.all(addresses.map(stateOf));
  return states.flatMap((state) => (state.kind === 'not_set_up' ? [state.reason] : []));
}

export function requireOverlap(value: string): OverlapPolicy {
  const policy = OVERLAP_POLICIES.find((known) => known === value);
  if (policy === undefined)
    throw invalid(`"${value}" is not an overlap rule.`, `There are ${OVERLAP_POLICIES.join(', ')}.`);
  return policy;
}

export function requireRetries(value: number): number {
  if (!Number.isInteger(value) || value < 0 || value > MAX_RETRIES)
    throw invalid(`Retries are a whole number from 0 to ${MAX_RETRIES}.`, 'E.g. `--retries 2`.');
  return value;
}

/** The numbers and names of a draft that need no look outside. */
export function plainOptions(draft: Partial<JobDraft>): Partial<JobOptions> {
  return {
    ...(draft.model !== undefined && { model: draft.model }),
    ...(draft.toolsets !== undefined && { toolsets: draft.toolsets }),
    ...(draft.graceMs !== undefined && { graceMs: draft.graceMs }),
    ...(draft.timeoutMs !== undefined && { timeoutMs: requirePositive(draft.timeoutMs, 'The time limit') }),
    ...(draft.retries !== undefined && { retries: requireRetries(draft.retries) }),
  };
}

export const DEFAULT_OPTIONS = { deliver: 'local', skills: [], retries: DEFAULT_RETRIES } satisfies Partial<JobOptions>;

export function requirePositive(value: number, what: string): number {
  if (!(value > 0)) throw invalid(`${what} must be more than nothing.`, 'E.g. `30m` or `26h`.');
  return value;
}

/** The record as users see it, in files, JSON output and tool results. */
export function jobToWire(job: Job): Record<string, unknown> {
  const { options } = job;
  const time = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString());
  return {
    id: job.id,
    name: job.name,
    schedule: job.schedule,
    tz: job.tz,
    prompt: job.prompt,
    deliver: options.deliver,
    skills: options.skills,
    script: options.script ?? null,
    model: options.model ?? null,
    toolsets: options.toolsets ?? null,
    origin: options.origin === undefined ? null : formatAddress(options.origin),
    enabled: job.enabled,
    grace: options.graceMs === undefined ? null : writeSpan(options.graceMs),
    overlap: job.overlap,
    timeout_s: options.timeoutMs === undefined ? null : options.timeoutMs / 1000,
    retries: options.retries,
    expect_every: job.expectEveryMs === undefined ? null : writeSpan(job.expectEveryMs),
    made_by: options.madeBy,
    created_at: time(job.createdAt),
    next_run_at: job.enabled ? time(job.nextRunAt) : null,
    last_run_at: time(job.lastRunAt),
    last_status: job.lastStatus ?? null,
    last_error: job.lastError ?? null,
    last_success_at: time(job.lastSuccessAt),
    failures: job.failures,
    paused_at: time(job.pausedAt),
    pause_reason: job.pauseReason ?? null,
  };
}

const invalid = (message: string, help: string): SvcError => new SvcError('invalid_input', message, { help });
