// A run as a row, and the one place where its state changes: only along the legal moves, and a final move takes along
// whatever hangs on the end of a run.

import type { Address } from '../core/address.ts';
import { isFinal, LEGAL_MOVES, type Run, type RunSettings, type RunSource, type RunState } from '../core/run.ts';
import { type Row, type SqlValue, type Steps, sql } from './operation.ts';
import { runEnded } from './run-ended.ts';

export interface Move {
  id: string;
  from: RunState;
  to: RunState;
  /** The fencing number of whoever moves it; a person's moves have none. */
  attempt?: number;
  /** Further columns that change with the state. */
  set?: Record<string, SqlValue>;
}

/** Moves the run and returns it as it is now, or undefined when it was not in that state (or another worker holds it). */
export function* moveRun({ id, from, to, attempt, set = {} }: Move): Steps<Run | undefined> {
  if (!LEGAL_MOVES[from].includes(to)) throw new Error(`A run cannot go from ${from} to ${to}.`);
  const values: SqlValue[] = [id, from, to];
  const parameter = (value: SqlValue): string => `$${values.push(value)}`;
  const assignments = Object.entries(set).map(([column, value]) => `, ${column} = ${parameter(value)}`);
  const fence = attempt === undefined ? '' : ` AND attempt = ${parameter(attempt)}`;
  const { rows } = yield* sql(
    `UPDATE runs SET state = $3${assignments.join('')} WHERE id = $1 AND state = $2${fence} RETURNING *`,
    ...values,
  );
  if (!rows[0]) return undefined;
  const run = runOf(rows[0]);
  if (isFinal(to)) yield* runEnded(run);
  return run;
}

/** The columns of a run that no worker holds. */
export const UNCLAIMED = { owner: null, lease_until: null } as const;

export function runOf(row: Row): Run {
  const text = (column: string): string | undefined => (row[column] === null ? undefined : String(row[column]));
  const number = (column: string): number | undefined => (row[column] === null ? undefined : Number(row[column]));
  const limitKey = text('limit_key');
  return {
    id: String(row.id),
    source: sourceOf(row),
    prompt: String(row.prompt),
    settings: JSON.parse(String(row.settings)) as RunSettings,
    addresses: JSON.parse(String(row.addresses)) as Address[],
    ...(limitKey !== undefined && { limit: { key: limitKey, max: Number(row.limit_max) } }),
    ...optional('serialKey', text('serial_key')),
    createdAt: Number(row.created_at),
    availableAt: Number(row.available_at),
    state: row.state as RunState,
    attempt: Number(row.attempt),
    ...optional('owner', text('owner')),
    ...optional('leaseUntil', number('lease_until')),
    cancelRequested: row.cancel_requested === 1,
    retries: Number(row.retries),
    ...optional('answer', text('answer')),
    ...optional('error', text('error')),
    ...optional('startedAt', number('started_at')),
    ...optional('endedAt', number('ended_at')),
  };
}

export const sourceOf = (row: Row): RunSource => ({
  kind: row.source_kind as RunSource['kind'],
  name: String(row.source_name),
  ...(row.source_ref !== null && { ref: String(row.source_ref) }),
});

/** A property that is left out when there is no value for it. */
export function optional<K extends string, T>(key: K, value: T | undefined): { [P in K]?: T } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: T });
}
