// The table of runs as everyone but a worker sees it: queueing, looking, cancelling, trying again, removing.
// What a worker does with a run it holds is in run-claims.ts.

import type { NewRun, Run, RunSource, RunState } from '../core/run.ts';
import type { Step } from '../core/step.ts';
import { defineOperation, type Operation, type Row, type SqlValue, type Steps, sql } from './operation.ts';
import { selectPage } from './page.ts';
import { moveRun, optional, runOf, sourceOf, UNCLAIMED } from './run-moves.ts';

/** Part of a larger transaction: the run exists if and only if what caused it does. */
export function* insertRun(run: NewRun): Steps<void> {
  yield* insertRunRow(runRow(run));
}

export function* insertRunRow(row: readonly SqlValue[]): Steps<void> {
  yield* sql(
    `INSERT INTO runs (id, state, source_kind, source_name, source_ref, prompt, settings, addresses, queue,
                       limit_key, limit_max, serial_key, created_at, available_at)
     VALUES ($1, 'queued', $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    ...row,
  );
}

/** The run as one flat row, which costs a fraction of the nested value to hand to another thread. */
export const runRow = (run: NewRun): SqlValue[] => [
  run.id,
  run.source.kind,
  run.source.name,
  run.source.ref ?? null,
  run.prompt,
  JSON.stringify(run.settings),
  JSON.stringify(run.addresses),
  queueOf(run),
  run.limit?.key ?? null,
  run.limit?.max ?? null,
  run.serialKey ?? null,
  run.createdAt,
  run.availableAt ?? run.createdAt,
];

export const enqueueRun = (run: NewRun): Operation<void> => enqueueRow(runRow(run));

export const enqueueRow = defineOperation('runs.enqueue', function* (row: SqlValue[]): Steps<void> {
  yield* insertRunRow(row);
});

export const getRun = defineOperation('runs.get', function* ({ id }: { id: string }): Steps<Run | undefined> {
  return yield* loadRun(id);
});

/** The recorded steps of a run, in order. */
export const stepsOf = defineOperation('runs.steps', function* ({ id }: { id: string }): Steps<Step[]> {
  const { rows } = yield* sql('SELECT step FROM run_steps WHERE run_id = $1 ORDER BY seq', id);
  return rows.map((row) => JSON.parse(String(row.step)) as Step);
});

export interface RunFilter {
  state?: RunState;
  sourceKind?: RunSource['kind'];
  sourceName?: string;
  /** Only runs created at or after this instant. */
  since?: number;
  limit: number;
  /** The `next` of the page before. */
  cursor?: string;
}

/** What a listing shows of a run: everything but its texts. */
export interface RunSummary {
  id: string;
  state: RunState;
  source: RunSource;
  attempt: number;
  steps: number;
  cancelRequested: boolean;
  createdAt: number;
  startedAt?: number;
  endedAt?: number;
  error?: string;
}

/** Newest first. `next` is there when more may follow. */
export const listRuns = defineOperation('runs.list', function* (filter: RunFilter): Steps<{
  runs: RunSummary[];
  next?: string;
}> {
  const { rows, ...page } = yield* selectPage({
    columns: `id, state, source_kind, source_name, source_ref, attempt, steps, cancel_requested,
              created_at, started_at, ended_at, error`,
    table: 'runs',
    where: [
      ['state =', filter.state],
      ['source_kind =', filter.sourceKind],
      ['source_name =', filter.sourceName],
      ['created_at >=', filter.since],
    ],
    limit: filter.limit,
    cursor: filter.cursor,
  });
  return { runs: rows.map(summaryOf), ...page };
});

export const runCounts = defineOperation('runs.counts', function* (_: Record<never, never>): Steps<
  Partial<Record<RunState, number>>
> {
  const { rows } = yield* sql('SELECT state, COUNT(*) AS runs FROM runs GROUP BY state');
  return Object.fromEntries(rows.map((row) => [row.state, Number(row.runs)]));
});

export type CancelResult =
  /** It had not started: it has failed now. */
  | { kind: 'cancelled' }
  /** Its worker will stop it at the next heartbeat. */
  | { kind: 'requested' }
  | { kind: 'too_late'; state: RunState }
  | { kind: 'not_found' };

export const cancelRun = defineOperation(
  'runs.cancel',
  function* ({ id, at }: { id: string; at: number }): Steps<CancelResult> {
    const set = { error: 'Cancelled before it started.', cancel_requested: 1, ended_at: at };
    if (yield* moveRun({ id, from: 'queued', to: 'failed', set })) return { kind: 'cancelled' };
    const { changes } = yield* sql("UPDATE runs SET cancel_requested = 1 WHERE id = $1 AND state = 'running'", id);
    if (changes > 0) return { kind: 'requested' };
    const run = yield* loadRun(id);
    return run ? { kind: 'too_late', state: run.state } : { kind: 'not_found' };
  },
);

export type RetryResult =
  /** It runs again, from its last finished step. */
  | { kind: 'queued' }
  /** Its answer is sent again. */
  | { kind: 'redelivering' }
  | { kind: 'not_ended'; state: RunState }
  | { kind: 'not_found' };

export const retryRun = defineOperation(
  'runs.retry',
  function* ({ id, at }: { id: string; at: number }): Steps<RetryResult> {
    const fresh = { error: null, ended_at: null, cancel_requested: 0, retries: 0, takeovers: 0, available_at: at };
    if (yield* moveRun({ id, from: 'failed', to: 'queued', set: { ...fresh, ...UNCLAIMED } }))
      return { kind: 'queued' };
    if (yield* reopenRun(id)) {
      yield* sql(
        `UPDATE deliveries SET state = 'waiting', attempts = 0, next_attempt_at = $2, ended_at = NULL
         WHERE run_id = $1 AND state IN ('dead', 'dropped')`,
        id,
        at,
      );
      return { kind: 'redelivering' };
    }
    const run = yield* loadRun(id);
    return run ? { kind: 'not_ended', state: run.state } : { kind: 'not_found' };
  },
);

/** Part of a transaction that sends a dead run's message again. False when the run is not dead. */
export function* reopenRun(id: string): Steps<boolean> {
  return (yield* moveRun({ id, from: 'dead', to: 'answered', set: { error: null, ended_at: null } })) !== undefined;
}

/**
 * To be called in the transaction that ended one of the run's deliveries: when it was the last one, the run ends too.
 * It is dead when any of its messages did not arrive.
 */
export function* settleRun(id: string, at: number): Steps<void> {
  // Taking the row first makes two deliveries that end together see each other.
  const { changes } = yield* sql("UPDATE runs SET ended_at = NULL WHERE id = $1 AND state = 'answered'", id);
  if (changes === 0) return;
  const { rows } = yield* sql(
    `SELECT COUNT(*) AS total,
            COALESCE(SUM(CASE WHEN state IN ('waiting', 'sending') THEN 1 ELSE 0 END), 0) AS open,
            COALESCE(SUM(CASE WHEN state = 'delivered' THEN 1 ELSE 0 END), 0) AS delivered
     FROM deliveries WHERE run_id = $1`,
    id,
  );
  const [counts] = rows;
  if (!counts || Number(counts.open) > 0) return;
  const arrived = Number(counts.delivered) === Number(counts.total);
  if (arrived) yield* moveRun({ id, from: 'answered', to: 'delivered', set: { ended_at: at } });
  else {
    const set = { ended_at: at, error: 'The answer could not be delivered everywhere.' };
    yield* moveRun({ id, from: 'answered', to: 'dead', set });
  }
}

/** Removes runs that ended before the instant, with their steps and messages; returns how many. */
export const pruneRuns = defineOperation(
  'runs.prune',
  function* ({ before, limit }: { before: number; limit: number }): Steps<number> {
    const { rows } = yield* sql(
      `SELECT id FROM runs WHERE ended_at < $1 AND state IN ('delivered', 'silent', 'failed', 'dead')
         AND NOT EXISTS (SELECT 1 FROM deliveries
                         WHERE deliveries.run_id = runs.id AND deliveries.state IN ('waiting', 'sending'))
       ORDER BY ended_at LIMIT $2`,
      before,
      limit,
    );
    for (const { id } of rows) {
      yield* sql('DELETE FROM run_steps WHERE run_id = $1', String(id));
      yield* sql('DELETE FROM deliveries WHERE run_id = $1', String(id));
      yield* sql('DELETE FROM runs WHERE id = $1', String(id));
    }
    return rows.length;
  },
);

/** Runs that must follow one another share a queue; otherwise whatever shares a limit or a source does. */
function queueOf({ serialKey, limit, source }: NewRun): string {
  if (serialKey !== undefined) return `serial ${serialKey}`;
  if (limit) return `limit ${limit.key}`;
  return `${source.kind} ${source.name}`;
}

function* loadRun(id: string): Steps<Run | undefined> {
  const { rows } = yield* sql('SELECT * FROM runs WHERE id = $1', id);
  return rows[0] && runOf(rows[0]);
}

const summaryOf = (row: Row): RunSummary => ({
  id: String(row.id),
  state: row.state as RunState,
  source: sourceOf(row),
  attempt: Number(row.attempt),
  steps: Number(row.steps),
  cancelRequested: row.cancel_requested === 1,
  createdAt: Number(row.created_at),
  ...optional('startedAt', row.started_at === null ? undefined : Number(row.started_at)),
  ...optional('endedAt', row.ended_at === null ? undefined : Number(row.ended_at)),
  ...optional('error', row.error === null ? undefined : String(row.error)),
});
