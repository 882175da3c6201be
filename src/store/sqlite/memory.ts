// A store that lives in memory and is gone with the process: for simulations, where the same operations must run as on
// disk and nothing may be kept.

import { migrate, readMigrations } from '../migrate.ts';
import { bodyOf } from '../operations.ts';
import type { Store } from '../store.ts';
import { Database, drive } from './database.ts';

export function openMemoryStore(): Store {
  const database = new Database(':memory:', 'memory');
  database.transaction('write', () => drive(database, migrate(readMigrations())));
  return {
    write: async (operation) => database.transaction('write', () => drive(database, bodyOf(operation))),
    read: async (operation) => database.transaction('read', () => drive(database, bodyOf(operation))),
    close: async () => database.close(),
  };
}
