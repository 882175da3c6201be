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

export interface BatchResult {
  /** One per operation, in order; meaningless where `errors` has an entry. */
  values: unknown[];
  /** By place; absent when all went well, which is nearly always: what is not there need not cross the border. */
  errors?: (ErrorData | undefined)[];
  /** Set when the store must not be used any more. */
  fatal?: ErrorData;
}

/** Commits the operations together. Never throws: when the commit fails, every operation of the batch failed. */
export function commitBatch(database: Database, operations: readonly Operation<unknown>[]): BatchResult {
  try {
    const values = database.transaction('write', () =>
      operations.map((operation) => drive(database, bodyOf(operation))),
    );
    return { values };
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
  const errors: (ErrorData | undefined)[] = [];
  const runOne = (operation: Operation<unknown>, index: number): unknown => {
    try {
      return database.savepoint(() => drive(database, bodyOf(operation)));
    } catch (error) {
      // The whole transaction is gone (full disk), or nothing can be trusted: this is the batch's failure, not one's own.
      if (!database.inTransaction || endsStore(error)) throw error;
      errors[index] = errorData(asStoreError(error, database.file));
      return undefined;
    }
  };
  try {
    return { values: database.transaction('write', () => operations.map(runOne)), errors };
  } catch (error) {
    return failedBatch(database, operations, error);
  }
}

function failedBatch(database: Database, operations: readonly Operation<unknown>[], error: unknown): BatchResult {
  const data = errorData(asStoreError(error, database.file));
  const failed = { values: operations.map(() => undefined), errors: operations.map(() => data) };
  return endsStore(error) ? { ...failed, fatal: data } : failed;
}

export const errorData = (error: SvcError): ErrorData => ({
  code: error.code,
  message: error.message,
  help: error.help,
});

export const thrownAgain = (data: ErrorData): SvcError =>
  new SvcError(data.code, data.message, data.help === undefined ? {} : { help: data.help });
