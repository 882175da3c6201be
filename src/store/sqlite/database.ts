// One connection to the SQLite file, set up so that a commit that returned survives a power cut. Everything here blocks
// its thread; whoever must not block uses writer.ts.

import { closeSync, fchmodSync, fstatSync, openSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { SvcError } from '../../core/errors.ts';
import type { SqlResult, SqlValue, Steps } from '../operation.ts';
import { storable } from '../text.ts';
import { asStoreError, isBusy } from './errors.ts';

const BUSY_TIMEOUT_MS = 5000;
const STATEMENT_CACHE = 256;
const FULL = 2;

interface CachedStatement {
  statement: StatementSync;
  /** Whether running it gives rows (SELECT, RETURNING). */
  hasRows: boolean;
  writes: boolean;
}

export class Database {
  readonly file: string;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, CachedStatement>();

  /** A database in memory is gone with its connection and promises nothing. */
  constructor(file: string, mode: 'read' | 'write' | 'memory') {
    this.file = file;
    try {
      if (mode === 'write') createPrivately(file);
      this.#database = new DatabaseSync(file, { readOnly: mode === 'read', timeout: BUSY_TIMEOUT_MS });
    } catch (error) {
      throw cannotOpen(file, error);
    }
    try {
      if (mode === 'write') this.#prepareForWriting();
      if (mode === 'read') this.#database.exec('PRAGMA schema_version');
    } catch (error) {
      this.#database.close();
      throw asStoreError(error, file);
    }
  }

  run(text: string, values: readonly SqlValue[]): SqlResult {
    const { statement, hasRows, writes } = this.#prepare(text);
    const bound = values.map(storable);
    if (!hasRows) return { rows: [], changes: Number(statement.run(...bound).changes) };
    const rows = statement.all(...bound) as SqlResult['rows'];
    return { rows, changes: writes ? rows.length : 0 };
  }

  /** Runs the steps in one transaction; `write` takes the writer's lock at once, so that it cannot fail half-way. */
  transaction<T>(kind: 'read' | 'write', work: () => T): T {
    this.#database.exec(kind === 'write' ? 'BEGIN IMMEDIATE' : 'BEGIN');
    try {
      const result = work();
      this.#database.exec('COMMIT');
      return result;
    } catch (error) {
      // Some errors (full disk, failed write) have already ended the transaction.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  /** Runs the work so that it can fail alone inside a transaction that goes on. */
  savepoint<T>(work: () => T): T {
    this.#database.exec('SAVEPOINT step');
    try {
      const result = work();
      this.#database.exec('RELEASE step');
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK TO step; RELEASE step');
      throw error;
    }
  }

  get inTransaction(): boolean {
    return this.#database.isTransaction;
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #prepare(text: string): CachedStatement {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(text.replace(/\$(\d+)/g, '?$1'));
    const cached = { statement, hasRows: statement.columns().length > 0, writes: !/^\s*(?:select|with)\b/i.test(text) };
    if (this.#statements.size >= STATEMENT_CACHE) {
      const [oldest] = this.#statements.keys();
      if (oldest !== undefined) this.#statements.delete(oldest);
    }
    this.#statements.set(text, cached);
    return cached;
  }

  #prepareForWriting(): void {
    // For a new file only. Rows hold payloads of a few kilobytes: on smaller pages most of them would stand alone.
    this.#database.exec('PRAGMA page_size = 8192');
    switchToWal(this.#database);
    this.#database.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA journal_size_limit = 67108864');
    // Savepoints keep their undo pages in memory, and the pages of hot indexes stay there; copying the log into the
    // file less often saves writing those pages again and again.
    this.#database.exec('PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 2000');
    const { synchronous } = this.#database.prepare('PRAGMA synchronous').get() ?? {};
    if (synchronous !== FULL) {
      throw new SvcError('store_unavailable', 'SQLite does not sync its commits here (synchronous is not FULL).', {
        help: 'Use the Node version that svc pins.',
      });
    }
  }
}

/** Runs an operation's steps to the end. Locks mean nothing here: SQLite has one writer. */
export function drive<T>(database: Database, steps: Steps<T>): T {
  let next = steps.next();
  while (!next.done) {
    const step = next.value;
    next = steps.next('lock' in step ? { rows: [], changes: 0 } : database.run(step.sql, step.values));
  }
  return next.value;
}

/** The file must never be readable by others, not even between its creation and a chmod; -wal and -shm follow it. */
function createPrivately(file: string): void {
  const fd = openSync(file, 'a', 0o600);
  try {
    if ((fstatSync(fd).mode & 0o077) !== 0) fchmodSync(fd, 0o600);
  } finally {
    closeSync(fd);
  }
}

/** Two processes that start together may both switch; SQLite answers one of them "busy" without waiting. */
function switchToWal(database: DatabaseSync): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let waitedMs = 0; ; waitedMs += 20) {
    try {
      const { journal_mode: mode } = database.prepare('PRAGMA journal_mode = WAL').get() ?? {};
      if (mode === 'wal') return;
      throw new SvcError('store_unavailable', `SQLite cannot use a write-ahead log here (mode is ${mode}).`, {
        help: 'Put the home folder on a local disk.',
      });
    } catch (error) {
      if (!isBusy(error) || waitedMs >= BUSY_TIMEOUT_MS) throw error;
      Atomics.wait(pause, 0, 0, 20);
    }
  }
}

function cannotOpen(file: string, error: unknown): SvcError {
  const detail = error instanceof Error ? error.message : String(error);
  return new SvcError('store_unavailable', `${file} cannot be opened: ${detail}.`, {
    help: 'Check the owner and permissions of the file and its folder, and that the disk is not mounted read-only.',
    cause: error,
  });
}
