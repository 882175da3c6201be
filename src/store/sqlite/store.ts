// The store on one SQLite file. Reads have a connection of their own on the calling thread and never wait for writers.

import { SvcError } from '../../core/errors.ts';
import { isCurrent, type Migration, migrate } from '../migrate.ts';
import type { Operation } from '../operation.ts';
import { bodyOf } from '../operations.ts';
import type { Store } from '../store.ts';
import { Database, drive } from './database.ts';
import { asStoreError } from './errors.ts';
import { inlineWriter, ThreadedWriter, type WriterOptions } from './writer.ts';

export interface SqliteOptions extends WriterOptions {
  mode: 'threaded' | 'inline';
  migrations: readonly Migration[];
}

export function openSqliteStore(file: string, options: SqliteOptions): Store {
  const database = new Database(file, 'write');
  try {
    bringUpToDate(database, options.migrations);
  } catch (error) {
    database.close();
    throw asStoreError(error, file);
  }
  const reader = new Database(file, 'read');
  const writer = options.mode === 'threaded' ? new ThreadedWriter(file, options) : inlineWriter(database, options);
  if (options.mode === 'threaded') database.close();
  let closing: Promise<void> | undefined;
  return {
    write: (operation) => writer.write(operation),
    read: async <T>(operation: Operation<T>): Promise<T> => {
      if (closing) throw new SvcError('store_unavailable', 'The store is closed.', { help: 'Start svc again.' });
      try {
        return reader.transaction('read', () => drive(reader, bodyOf(operation)));
      } catch (error) {
        throw asStoreError(error, file);
      }
    },
    close: () => {
      // The writer goes last: only it can move the log into the database and remove it.
      if (!closing) reader.close();
      closing ??= writer.close();
      return closing;
    },
  };
}

/** The common case takes no lock: a command that starts beside a busy gateway must not wait for its turn to write. */
function bringUpToDate(database: Database, migrations: readonly Migration[]): void {
  const exists = database.run("SELECT name FROM sqlite_master WHERE name = 'svc_migrations'", []).rows.length > 0;
  if (exists && drive(database, isCurrent(migrations))) return;
  database.transaction('write', () => drive(database, migrate(migrations)));
}
