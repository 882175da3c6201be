// What a worker does with runs: take one, keep it, record its steps, end it. A claim is a lease with a fencing number
// (`attempt`): whoever lost the lease can no longer write, whatever it still believes.

import type { Run } from '../core/run.ts';
import type { Step } from '../core/step.ts';
import { insertDelivery } from './deliveries.ts';
import { defineOperation, lock, type Row, type Steps, sql } from './operation.ts';
import { moveRun, runOf, UNCLAIMED } from './run-moves.ts';

/** Queues looked at in one claim, and runs of one queue that are tried when others take them first. */
const MAX_QUEUES = 256;
const MAX_RIVALS = 16;

export interface ClaimInput {
  owner: string;
  now: number;
  leaseMs: number;
  /** Runs this worker is busy with: a clock that jumped must not make it rob itself. */
  held?: string[];
  /** The `after` of the last claim: queues take turns, so that one flood does not starve the rest. */
  after: string;
}

export interface Claim {
  /** Absent when nothing may start now. */
  run?: Run;
  /** How many workers died while they held this run. */
  takeovers: number;
  after: string;
}

/** Takes a run whose worker died, else the next queued one that its limit and serial key allow. */
export const claimRun = defineOperation('runs.claim', function* (input: ClaimInput): Steps<Claim> {
  const orphan = yield* takeOver(input);
  if (orphan) return { run: runOf(orphan), takeovers: Number(orphan.takeovers), after: input.after };
  let after = input.after;
  let wrapped = false;
  for (let looked = 0; looked < MAX_QUEUES; looked += 1) {
    const queue: string | undefined = yield* nextQueue(after, wrapped ? input.after : undefined);
    if (queue === undefined) {
      if (wrapped) return { takeovers: 0, after };
      wrapped = true;
      after = '';
      continue;
    }
    after = queue;
    const row = yield* claimFrom(queue, input);
    if (row) return { run: runOf(row), takeovers: Number(row.takeovers), after };
  }
  return { takeovers: 0, after };
});

/** Takes one certain run if it is queued, whatever else waits: for a person who wants to see it run here. */
export const claimOneRun = defineOperation('runs.claim_one', function* (input: ClaimInput & { runId: string }): Steps<
  Run | undefined
> {
  const row = yield* take({ id: input.runId }, input);
  return row && runOf(row);
});

/** `lost` means another worker holds the run: stop at once and write nothing more. */
export type Renewal = { kind: 'held'; cancelRequested: boolean } | { kind: 'lost' };

export const renewLease = defineOperation(
  'runs.renew',
  function* (input: { runId: string; attempt: number; now: number; leaseMs: number }): Steps<Renewal> {
    const { rows } = yield* sql(
      `UPDATE runs SET lease_until = $3 WHERE id = $1 AND attempt = $2 AND state = 'running' RETURNING cancel_requested`,
      input.runId,
      input.attempt,
      input.now + input.leaseMs,
    );
    return rows[0] ? { kind: 'held', cancelRequested: rows[0].cancel_requested === 1 } : { kind: 'lost' };
  },
);

/** Records a step; `seq` counts from 1. The same step again changes nothing. False when the lease is lost. */
export const recordStep = defineOperation(
  'runs.record_step',
  function* (input: { runId: string; attempt: number; seq: number; step: Step; at: number }): Steps<boolean> {
    // Taking the run's row first holds off a rival claim until this step is committed.
    const { changes } = yield* sql(
      `UPDATE runs SET steps = $3 WHERE id = $1 AND attempt = $2 AND state = 'running'`,
      input.runId,
      input.attempt,
      input.seq,
    );
    if (changes === 0) return false;
    yield* sql(
      'INSERT INTO run_steps (run_id, seq, step, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (run_id, seq) DO NOTHING',
      input.runId,
      input.seq,
      JSON.stringify(input.step),
      input.at,
    );
    return true;
  },
);

/** Gives a run back unfinished; another worker goes on from its last step. False when the lease is lost. */
export const releaseRun = defineOperation(
  'runs.release',
  function* ({ runId: id, attempt, at }: { runId: string; attempt: number; at: number }): Steps<boolean> {
    const set = { ...UNCLAIMED, available_at: at };
    return (yield* moveRun({ id, from: 'running', to: 'queued', attempt, set })) !== undefined;
  },
);

export interface AnswerInput {
  runId: string;
  attempt: number;
  answer: string;
  /** True keeps the answer in the row and sends nothing. */
  silent: boolean;
  /** One new id per address of the run. */
  deliveryIds: string[];
  at: number;
}

/** Stores the answer together with the messages it becomes. Returns the run, or undefined when the lease is lost. */
export const storeAnswer = defineOperation('runs.answer', function* (input: AnswerInput): Steps<Run | undefined> {
  const { runId: id, attempt, at } = input;
  const set = { answer: input.answer, error: null, ...UNCLAIMED };
  const run = yield* moveRun({ id, from: 'running', to: 'answered', attempt, set });
  if (!run) return undefined;
  if (input.silent) return yield* moveRun({ id, from: 'answered', to: 'silent', set: { ended_at: at } });
  if (run.addresses.length === 0) {
    return yield* moveRun({ id, from: 'answered', to: 'delivered', set: { ended_at: at } });
  }
  yield* insertMessages(run, input.answer, input.deliveryIds, at);
  return run;
});

export interface FailureInput {
  runId: string;
  attempt: number;
  error: string;
  /** When set, the run is tried again at this instant if it has retries left. */
  retryAt?: number;
  /** Sent to the run's addresses when its settings ask for that and it is not tried again. */
  report?: string;
  deliveryIds: string[];
  at: number;
}

/** Ends the run, or queues it again. Undefined when the lease is lost. */
export const failRun = defineOperation('runs.fail', function* (input: FailureInput): Steps<Run | undefined> {
  const { runId: id, attempt, error, at } = input;
  if (input.retryAt !== undefined) {
    const held = yield* heldRun(id, attempt);
    if (!held) return undefined;
    if (held.retries < held.settings.maxRetries) {
      const set = { ...UNCLAIMED, error, retries: held.retries + 1, available_at: input.retryAt };
      return yield* moveRun({ id, from: 'running', to: 'queued', attempt, set });
    }
  }
  const set = { ...UNCLAIMED, error, ended_at: at };
  const run = yield* moveRun({ id, from: 'running', to: 'failed', attempt, set });
  if (run?.settings.reportFailure && input.report !== undefined) {
    yield* insertMessages(run, input.report, input.deliveryIds, at);
  }
  return run;
});

function* takeOver(input: ClaimInput): Steps<Row | undefined> {
  const { rows } = yield* sql(
    `SELECT id, attempt FROM runs WHERE state = 'running' AND lease_until < $1 ORDER BY lease_until LIMIT $2`,
    input.now,
    MAX_RIVALS,
  );
  for (const { id, attempt } of rows) {
    if (input.held?.includes(String(id))) continue;
    const taken = yield* sql(
      `UPDATE runs SET owner = $1, attempt = attempt + 1, takeovers = takeovers + 1, lease_until = $2
       WHERE id = $3 AND attempt = $4 AND state = 'running' AND lease_until < $5 RETURNING *`,
      input.owner,
      input.now + input.leaseMs,
      id ?? null,
      attempt ?? null,
      input.now,
    );
    if (taken.rows[0]) return taken.rows[0];
  }
  return undefined;
}

/** The first queue with waiting runs after the cursor, in the database's own order. */
function* nextQueue(after: string, until: string | undefined): Steps<string | undefined> {
  const values = until === undefined ? [after] : [after, until];
  const { rows } = yield* sql(
    `SELECT MIN(queue) AS queue FROM runs WHERE state = 'queued' AND queue > $1 ${until === undefined ? '' : 'AND queue <= $2'}`,
    ...values,
  );
  const queue = rows[0]?.queue;
  return typeof queue === 'string' ? queue : undefined;
}

function* claimFrom(queue: string, input: ClaimInput): Steps<Row | undefined> {
  const candidates = yield* waitingIn(queue, input.now);
  const [head] = candidates;
  if (!head) return undefined;
  if (head.serial_key !== null || head.limit_key !== null) return yield* claimGuarded(queue, head, input);
  for (const candidate of inOwnOrder(candidates, input.owner)) {
    const row = yield* take(candidate, input);
    if (row) return row;
  }
  return undefined;
}

/** In order. A serial queue shows its head even when that must wait: nothing may overtake it. */
function* waitingIn(queue: string, now: number): Steps<Row[]> {
  const { rows } = yield* sql(
    `SELECT id, available_at, limit_key, limit_max, serial_key FROM runs
     WHERE queue = $1 AND state = 'queued' AND (available_at <= $2 OR serial_key IS NOT NULL) ORDER BY id LIMIT $3`,
    queue,
    now,
    MAX_RIVALS,
  );
  return rows;
}

/** A run with a limit or a serial key: looked at first, and once more under the lock that all claimers of its key take. */
function* claimGuarded(queue: string, head: Row, input: ClaimInput): Steps<Row | undefined> {
  if (Number(head.available_at) > input.now || (yield* isHeldUp(head))) return undefined;
  if (head.serial_key !== null) yield* lock(`serial ${head.serial_key}`);
  if (head.limit_key !== null) yield* lock(`limit ${head.limit_key}`);
  const [first] = yield* waitingIn(queue, input.now);
  if (!first || first.id !== head.id || (yield* isHeldUp(head))) return undefined;
  return yield* take(head, input);
}

function* isHeldUp(run: Row): Steps<boolean> {
  if (run.serial_key !== null) {
    const { rows } = yield* sql(
      `SELECT id FROM runs WHERE serial_key = $1 AND state = 'running' LIMIT 1`,
      String(run.serial_key),
    );
    if (rows.length > 0) return true;
  }
  if (run.limit_key === null) return false;
  const { rows } = yield* sql(
    `SELECT COUNT(*) AS running FROM runs WHERE limit_key = $1 AND state = 'running'`,
    String(run.limit_key),
  );
  return Number(rows[0]?.running) >= Number(run.limit_max);
}

function* take(candidate: Row, input: ClaimInput): Steps<Row | undefined> {
  const { rows } = yield* sql(
    `UPDATE runs SET state = 'running', owner = $1, attempt = attempt + 1, lease_until = $2,
                     started_at = COALESCE(started_at, $3)
     WHERE id = $4 AND state = 'queued' RETURNING *`,
    input.owner,
    input.now + input.leaseMs,
    input.now,
    String(candidate.id),
  );
  return rows[0];
}

/** The oldest first; after it each worker tries another order, so that rivals do not meet again at every row. */
function inOwnOrder(rows: readonly Row[], owner: string): Row[] {
  const [head, ...rest] = rows;
  if (!head) return [];
  const start = [...owner].reduce((sum, character) => sum + (character.codePointAt(0) ?? 0), 0) % (rest.length || 1);
  return [head, ...rest.slice(start), ...rest.slice(0, start)];
}

function* heldRun(id: string, attempt: number): Steps<Run | undefined> {
  const { rows } = yield* sql(`SELECT * FROM runs WHERE id = $1 AND attempt = $2 AND state = 'running'`, id, attempt);
  return rows[0] && runOf(rows[0]);
}

function* insertMessages(run: Run, text: string, ids: readonly string[], at: number): Steps<void> {
  for (const [index, address] of run.addresses.entries()) {
    const id = ids[index];
    if (id === undefined) throw new Error(`A message of ${run.id} has no id.`);
    yield* insertDelivery({
      id,
      runId: run.id,
      source: run.settings.title ?? run.source.name,
      address,
      text,
      createdAt: at,
    });
  }
}
