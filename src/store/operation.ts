// How a store operation is written: a generator that yields SQL and receives rows. The SQLite writer thread drives it
// without waiting, the PostgreSQL store drives it with awaits; the text of the SQL is the same for both.
//
// The common dialect: `$1` parameters, `ON CONFLICT`, `RETURNING`, TEXT / BIGINT / INTEGER columns, JSON as TEXT,
// booleans as 0 and 1, times as epoch milliseconds. No other function of either database.

export type SqlValue = string | number | null;
export type Row = Record<string, SqlValue>;

/** One statement, or the lock that makes a check-then-write safe where many processes write (a no-op in SQLite). */
export type SqlStep = { sql: string; values: SqlValue[] } | { lock: string };

export interface SqlResult {
  rows: Row[];
  /** Rows inserted, updated or deleted. */
  changes: number;
}

/** The body of an operation; delegate to another body with `yield*`. */
export type Steps<T> = Generator<SqlStep, T, SqlResult>;

/** What crosses the thread border: which operation, with which (cloneable) input. The type parameter is its result. */
export interface Operation<T> {
  readonly name: string;
  readonly input: unknown;
  /** Never set: it only carries the result type. */
  readonly result?: T;
}

export interface OperationDefinition<I, T> {
  (input: I): Operation<T>;
  readonly operation: string;
  readonly body: (input: I) => Steps<T>;
}

/** Defines an operation. Its name must be unique, and its definition listed in operations.ts. */
export function defineOperation<I, T>(name: string, body: (input: I) => Steps<T>): OperationDefinition<I, T> {
  const make = (input: I): Operation<T> => ({ name, input });
  return Object.assign(make, { operation: name, body });
}

/** Runs one statement and returns its result. */
export function* sql(text: string, ...values: SqlValue[]): Steps<SqlResult> {
  return yield { sql: text, values };
}

/** Holds the named lock until the transaction ends. */
export function* lock(name: string): Steps<void> {
  yield { lock: name };
}
