// Opens the store that the settings name: a SQLite file, or a PostgreSQL database that several processes share.

import { SvcError } from '../core/errors.ts';
import { readMigrations } from './migrate.ts';
import { openSqliteStore } from './sqlite/store.ts';
import type { Store } from './store.ts';

export interface OpenOptions {
  /** `threaded` keeps the event loop free (the gateway); `inline` starts faster (commands). PostgreSQL knows no difference. */
  mode: 'threaded' | 'inline';
  /** Called once when a disk error made the store useless; the process should end. Every later write is refused. */
  onFatal?: (error: SvcError) => void;
}

/** Opens and migrates. Throws SvcError `store_unavailable` or `store_newer`; the caller closes the store. */
export async function openStore(where: { file: string } | { url: string }, options: OpenOptions): Promise<Store> {
  const migrations = readMigrations();
  if ('file' in where) return openSqliteStore(where.file, { ...options, migrations });
  if (!/^postgres(?:ql)?:\/\//.test(where.url)) {
    throw new SvcError('config_invalid', 'database.url is not a postgres:// address.', {
      help: 'Write postgres://user:password@host/database, or remove database.url to use svc.db in the home folder.',
    });
  }
  const { openPostgresStore } = await import('./postgres/store.ts');
  return openPostgresStore(where.url, { migrations });
}
