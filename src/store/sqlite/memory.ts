// A store that lives in memory and is gone with the process: for simulations, where the same operations must run as on
// disk and nothing may be kept.

import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { migrate, readMigrations } from '../migrate.ts';
import type { SqlResult, SqlValue, Steps } from '../operation.ts';
import { bodyOf } from '../operations.ts';
import type { Store } from '../store.ts';

export function openMemoryStore(): Store {
  const database = new DatabaseSync(':memory:');
  const statements = new Map<string, StatementSync>();
  const run = (text: string, values: readonly SqlValue[]): SqlResult => {
    let statement = statements.get(text);
    if (statement === undefined) {
      statement = database.prepare(text.replace(/\$(\d+)/g, '?$1'));
      statements.set(text, statement);
    }
    if (statement.columns().length === 0) return { rows: [], changes: Number(statement.run(...values).changes) };
    const rows = statement.all(...values) as SqlResult['rows'];
    return { rows, changes: rows.length };
  };
  const drive = <T>(steps: Steps<T>): T => {
    database.exec('BEGIN');
    try {
      let next = steps.next();
      while (!next.done) {
        const step = next.value;
        next = steps.next('lock' in step ? { rows: [], changes: 0 } : run(step.sql, step.values));
      }
      database.exec('COMMIT');
      return next.value;
    } catch (error) {
      database.exec('ROLLBACK');
      throw error;
    }
  };
  drive(migrate(readMigrations()));
  return {
    write: async (operation) => drive(bodyOf(operation)),
    read: async (operation) => drive(bodyOf(operation)),
    close: async () => {
      if (database.isOpen) database.close();
    },
  };
}
