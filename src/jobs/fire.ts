// A job fires here: the run that one slot becomes. Text from outside (a script's output, an event) is kept apart from the
// operator's own words, so that the run can fence it.

import { type Address, parseAddresses } from '../core/address.ts';
import type { Job } from '../core/job.ts';
import type { NewRun } from '../core/run.ts';
import type { SlotStart } from '../store/slots.ts';
import { showInstant } from './zone.ts';

const TOOLSET = 'svc-cron';

export interface FiringSlot {
  dueAt: number;
  late: boolean;
  /** What an event brought along. */
  context?: string;
  /** What the script printed; undefined when the job has none. */
  scriptOutput?: string;
}

/** Jobs with a script start with it; their run is made when it has ended. */
export function startOf(job: Job, slot: FiringSlot, runId: string, now: number): SlotStart {
  return job.options.script === undefined ? { kind: 'run', run: runOf(job, slot, runId, now) } : { kind: 'script' };
}

export function runOf(job: Job, slot: FiringSlot, runId: string, now: number): NewRun {
  const { options } = job;
  const outside = [slot.context, slot.scriptOutput].filter((text) => text !== undefined && text.trim() !== '');
  const words = ownWords(job, slot, now);
  return {
    id: runId,
    source: { kind: 'job', name: job.id, ref: String(slot.dueAt) },
    prompt: outside.length > 0 ? outside.join('\n\n') : words,
    settings: {
      title: job.name,
      skills: options.skills,
      ...(outside.length > 0 && { instructions: words }),
      toolsets: options.toolsets ?? [TOOLSET],
      ...(options.allowedTools !== undefined && { allowedTools: options.allowedTools }),
      ...(options.model !== undefined && { model: options.model }),
      ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
      untrusted: outside.length > 0,
      silentMarker: true,
      reportFailure: true,
      maxRetries: options.retries,
    },
    addresses: addressesOf(job),
    ...(job.overlap === 'queue' && { serialKey: `job ${job.id}` }),
    createdAt: now,
  };
}

/** Where the answers of a job go. `origin` is the chat it was made in, and the local folder when it was made in none. */
export function addressesOf(job: Job): Address[] {
  const parsed = parseAddresses(job.options.deliver);
  // It was read when the job was made; should it be unreadable by now, the answer must still go somewhere.
  if (parsed.kind === 'invalid') return [{ target: 'local' }];
  return parsed.addresses.map((address) =>
    address.target === 'origin' ? (job.options.origin ?? { target: 'local' }) : address,
  );
}

function ownWords(job: Job, slot: FiringSlot, now: number): string {
  const parts: string[] = [];
  if (slot.late) {
    const [due, start] = [showInstant(job.tz, slot.dueAt), showInstant(job.tz, now)];
    parts.push(`(This run was due at ${due} and starts late, at ${start}.)`);
  }
  if (slot.scriptOutput?.trim() === '') parts.push('(The script of this job printed nothing.)');
  return [...parts, job.prompt].join('\n\n');
}
