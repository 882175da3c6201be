// One group commit: many operations, one transaction, one sync; each operation succeeds or fails alone.

import { type ErrorCode, SvcError } from '../../core/errors.ts';
import type { Operation } from '../operation.ts';
import { bodyOf } from '../operations.ts';
import { type Database, drive } from './database.ts';
import { asStoreError, endsStore, isBusy } from './errors.ts';

/** An error as it crosses the thread border. */
export interface ErrorData {
  code: ErrorCode;
  message: string;
  help: string | undefined;
}

export type Outcome = { ok: true; value: unknown } | { ok: false; error: ErrorData };

export interface BatchResult {
  /** One per operation, in order. */
  outcomes: Outcome[];
  /** Set when the store must not be used any more. */
  fatal?: ErrorData;
}

/** Commits the operations together. Never throws: when the commit fails, every operation of the batch failed. */
export function commitBatch(database: Database, operations: readonly Operation<unknown>[]): BatchResult {
  try {
    return {
      outcomes: database.transaction('write', () => operations.map((operation) => runPlainly(database, operation))),
    };
  } catch (error) {
    if (endsStore(error) || isBusy(error)) return failedBatch(database, operations, error);
    return commitApart(database, operations);
  }
}

/**
 * Again, each in a savepoint. Savepoints cost a third of a commit, and an operation that throws is rare: so the first
 * try goes without them, and only a batch in which one threw is run a second time. Nothing of the first try was kept.
 */
function commitApart(database: Database, operations: readonly Operation<unknown>[]): BatchResult {
  try {
    return {
      outcomes: database.transaction('write', () => operations.map((operation) => runOne(database, operation))),
    };
  } catch (error) {
    return failedBatch(database, operations, error);
  }
}

function failedBatch(database: Database, operations: readonly Operation<unknown>[], error: unknown): BatchResult {
  const data = errorData(asStoreError(error, database.file));
  const outcomes = operations.map((): Outcome => ({ ok: false, error: data }));
  return endsStore(error) ? { outcomes, fatal: data } : { outcomes };
}

const runPlainly = (database: Database, operation: Operation<unknown>): Outcome => ({
  ok: true,
  value: drive(database, bodyOf(operation)),
});

function runOne(database: Database, operation: Operation<unknown>): Outcome {
  try {
    return { ok: true, value: database.savepoint(() => drive(database, bodyOf(operation))) };
  } catch (error) {
    // The whole transaction is gone (full disk), or nothing can be trusted: this is the batch's failure, not one's own.
    if (!database.inTransaction || endsStore(error)) throw error;
    return { ok: false, error: errorData(asStoreError(error, database.file)) };
  }
}

export const errorData = (error: SvcError): ErrorData => ({
  code: error.code,
  message: error.message,
  help: error.help,
});

export const thrownAgain = (data: ErrorData): SvcError =>
  new SvcError(data.code, data.message, data.help === undefined ? {} : { help: data.help });
