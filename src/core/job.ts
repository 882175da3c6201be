// A scheduled job, and the slots its due times become. A slot is unique by (job, instant), is written before anything else
// happens, and ends in exactly one final state with a reason.

import type { Address } from './address.ts';

export const OVERLAP_POLICIES = ['skip', 'queue', 'parallel'] as const;
export type OverlapPolicy = (typeof OVERLAP_POLICIES)[number];

/** What a person decides about a job. */
export interface JobOptions {
  /** As written: `origin`, `local`, or addresses. */
  deliver: string;
  skills: string[];
  script?: string;
  model?: string;
  toolsets?: string[];
  /** The tools its maker had: the job never gets others, whatever its toolsets hold. Absent for jobs of a person. */
  allowedTools?: string[];
  /** The chat in which the job was made. */
  origin?: Address;
  /** How late a missed due time may still be made up; half the period (2 min to 2 h) when absent. */
  graceMs?: number;
  timeoutMs?: number;
  /** How many times a transient failure of a run is tried again. */
  retries: number;
  madeBy: 'person' | 'agent';
  /** An agent named the script: it must stay in the scripts folder, also after links are resolved. */
  confined?: boolean;
}

export interface Job {
  id: string;
  /** Unique, ignoring case. */
  name: string;
  schedule: string;
  tz: string;
  /** When the schedule was set; intervals count from here. */
  anchorAt: number;
  prompt: string;
  overlap: OverlapPolicy;
  options: JobOptions;
  enabled: boolean;
  pausedAt?: number;
  pauseReason?: string;
  /** Grows with every change by a person; a firing prepared from an older one is refused. */
  revision: number;
  /** Absent when nothing is due any more. A paused job keeps the instant at which it stopped. */
  nextRunAt?: number;
  lastRunAt?: number;
  lastStatus?: string;
  lastError?: string;
  lastSuccessAt?: number;
  /** Failed slots in a row. */
  failures: number;
  /** An alarm goes off when there was no success for this long. */
  expectEveryMs?: number;
  alarmAt?: number;
  alarm?: Alarm;
  createdAt: number;
  updatedAt: number;
}

/** What the target was told last; a success takes it back with a message. */
export type Alarm = 'failures' | 'expectation';

const OPEN_SLOT_STATES = ['waiting', 'scripting', 'running'] as const;
export const FINAL_SLOT_STATES = [
  'ran',
  'late',
  'coalesced',
  'skipped_overlap',
  'missed',
  'paused',
  'gated',
  'failed',
] as const;
export type FinalSlotState = (typeof FINAL_SLOT_STATES)[number];
export type SlotState = (typeof OPEN_SLOT_STATES)[number] | FinalSlotState;

const SLOT_CAUSES = ['schedule', 'manual', 'webhook'] as const;
export type SlotCause = (typeof SLOT_CAUSES)[number];

export interface Slot {
  jobId: string;
  dueAt: number;
  /** After downtime one row stands for all instants from `dueAt` to here. */
  lastDueAt: number;
  instants: number;
  cause: SlotCause;
  causeRef?: string;
  /** Text that the cause brought along (a webhook's payload), for the prompt. */
  context?: string;
  state: SlotState;
  late: boolean;
  reason: string;
  /** What a clock change did to this due time. */
  note?: string;
  runId?: string;
  recordedAt: number;
  endedAt?: number;
}

/** Failed slots in a row after which a job is paused. */
export const FAILURES_BEFORE_PAUSE = 10;
