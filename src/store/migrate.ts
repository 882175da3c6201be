// Brings a database to the shape this program knows: numbered .sql files, each applied once, all in one transaction.
// It never goes back, and it refuses a database that a newer program has already changed.

import { readdirSync, readFileSync } from 'node:fs';
import { SvcError } from '../core/errors.ts';
import { lock, type Steps, sql } from './operation.ts';

export interface Migration {
  number: number;
  name: string;
  /** Statements of the common dialect; each ends with a semicolon at the end of a line. */
  sql: string;
}

/** The folder stands beside this file in the source, and beside the bundle in a packed install (the build copies it). */
export function readMigrations(folder: URL = new URL('./migrations/', import.meta.url)): Migration[] {
  return readdirSync(folder)
    .filter((file) => /^\d{4}-[a-z0-9-]+\.sql$/.test(file))
    .sort()
    .map((file) => ({
      number: Number(file.slice(0, 4)),
      name: file.slice(5, -4),
      sql: readFileSync(new URL(file, folder), 'utf8'),
    }));
}

/** Whether nothing is left to do. Throws when the database is newer, and like any query when it is still empty. */
export function* isCurrent(migrations: readonly Migration[]): Steps<boolean> {
  const applied = yield* appliedNumbers(migrations);
  return migrations.every((migration) => applied.has(migration.number));
}

/** Applies what is missing. To be run in one transaction that no other writer shares. */
export function* migrate(migrations: readonly Migration[]): Steps<void> {
  yield* lock('migrate');
  yield* sql('CREATE TABLE IF NOT EXISTS svc_migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL)');
  const applied = yield* appliedNumbers(migrations);
  for (const migration of migrations) {
    if (applied.has(migration.number)) continue;
    for (const statement of statementsOf(migration.sql)) yield* sql(statement);
    yield* sql('INSERT INTO svc_migrations (number, name) VALUES ($1, $2)', migration.number, migration.name);
  }
}

function* appliedNumbers(migrations: readonly Migration[]): Steps<Set<number>> {
  const { rows } = yield* sql('SELECT number FROM svc_migrations');
  const applied = new Set(rows.map((row) => Number(row.number)));
  const known = new Set(migrations.map((migration) => migration.number));
  if ([...applied].some((number) => !known.has(number))) {
    throw new SvcError('store_newer', 'The database was changed by a newer version of svc.', {
      help: 'Update svc to the version that last used this database, or point it at another one.',
    });
  }
  return applied;
}

const statementsOf = (text: string): string[] =>
  text
    .split(/;[ \t]*(?:\r?\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
