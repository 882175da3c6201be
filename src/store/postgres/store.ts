// The store on PostgreSQL, for several processes that share the work. Every write is one transaction of its own; the
// server groups their commits. Whatever must be strict between processes says so with a lock step or a conditional update.

import type { Pool, PoolClient } from 'pg';
import { messageOf, SvcError } from '../../core/errors.ts';
import { isCurrent, type Migration, migrate } from '../migrate.ts';
import type { Operation, SqlResult, SqlStep, Steps } from '../operation.ts';
import { bodyOf } from '../operations.ts';
import type { Store } from '../store.ts';
import { storable } from '../text.ts';
import { asStoreError, isCollision, whereOf } from './errors.ts';

const CONNECTIONS = 10;
const CONNECT_TIMEOUT_MS = 10_000;
const MAX_QUEUED = 2048;
const MAX_TRIES = 8;

/** Kinds of numbers that `pg` hands out as text: int8 (times, counts) and numeric (sums). Ours stay below 2^53. */
const NUMBER_OIDS = [20, 1700];

export interface PostgresOptions {
  migrations: readonly Migration[];
}

export async function openPostgresStore(url: string, { migrations }: PostgresOptions): Promise<Store> {
  const where = whereOf(url);
  const pool = await connectPool(url);
  try {
    await bringUpToDate(pool, migrations);
  } catch (error) {
    await pool.end();
    throw asStoreError(error, where);
  }
  const active = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;
  const inTransaction = async <T>(begin: string, operation: Operation<T>): Promise<T> => {
    if (closing) throw new SvcError('store_unavailable', 'The store is closed.', { help: 'Start svc again.' });
    if (active.size >= MAX_QUEUED) {
      throw new SvcError('store_busy', 'Too much is waiting for the database.', { help: 'Try again in a moment.' });
    }
    const work = transaction(pool, begin, () => bodyOf(operation));
    active.add(work);
    try {
      return await work;
    } catch (error) {
      throw asStoreError(error, where);
    } finally {
      active.delete(work);
    }
  };
  return {
    write: (operation) => inTransaction('BEGIN', operation),
    read: (operation) => inTransaction('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', operation),
    close: () => {
      closing ??= Promise.allSettled(active).then(() => pool.end());
      return closing;
    },
  };
}

async function connectPool(url: string): Promise<Pool> {
  const { default: pg } = await import('pg').catch((error: unknown) => {
    throw new SvcError('part_missing', `The PostgreSQL driver cannot be loaded: ${messageOf(error)}.`, {
      help: 'Run `npm install pg` where svc is installed, or remove database.url.',
    });
  });
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: 'svc',
    // A process that nothing else holds may end; open connections must not keep a finished command alive.
    allowExitOnIdle: true,
    // A dead client's locks must not outlive it for long when the network hides its death.
    idle_in_transaction_session_timeout: 60_000,
    // Some servers are set to acknowledge before the disk has it. A store may not.
    onConnect: async (client) => {
      await client.query(
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
      );
    },
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        NUMBER_OIDS.includes(oid) ? Number : pg.types.getTypeParser(oid, format ?? 'text'),
    },
  });
  // An idle connection that breaks is dropped; the next operation opens another and reports what it finds.
  pool.on('error', () => {});
  // One that breaks in use fails the query that waits for it; the event besides must not end the process.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** Runs the steps in one transaction, again from the start when neighbours got in the way. */
async function transaction<T>(pool: Pool, begin: string, body: () => Steps<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const client = await begun(pool, begin);
    try {
      const result = await drive(client, body());
      await client.query('COMMIT');
      client.release();
      return result;
    } catch (error) {
      // A connection that cannot even roll back is not worth keeping.
      const broken = await client.query('ROLLBACK').then(
        () => false,
        () => true,
      );
      client.release(broken);
      if (!isCollision(error) || tries >= MAX_TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 2 ** tries));
    }
  }
}

/** A kept connection may have died unseen (server restart). Nothing has happened yet, so another one is tried. */
async function begun(pool: Pool, begin: string): Promise<PoolClient> {
  for (let tries = 0; ; tries += 1) {
    const client = await pool.connect();
    try {
      await client.query(begin);
      return client;
    } catch (error) {
      client.release(true);
      if (tries >= CONNECTIONS) throw error;
    }
  }
}

async function drive<T>(client: PoolClient, steps: Steps<T>): Promise<T> {
  let next = steps.next();
  while (!next.done) next = steps.next(await perform(client, next.value));
  return next.value;
}

async function perform(client: PoolClient, step: SqlStep): Promise<SqlResult> {
  if ('lock' in step) {
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`svc:${step.lock}`]);
    return { rows: [], changes: 0 };
  }
  const { rows, rowCount, command } = await client.query(step.sql, step.values.map(storable));
  return { rows, changes: command === 'SELECT' ? 0 : (rowCount ?? 0) };
}

async function bringUpToDate(pool: Pool, migrations: readonly Migration[]): Promise<void> {
  const { rows } = await pool.query("SELECT to_regclass('svc_migrations') IS NOT NULL AS found");
  if (rows[0]?.found && (await transaction(pool, 'BEGIN', () => isCurrent(migrations)))) return;
  await transaction(pool, 'BEGIN', () => migrate(migrations));
}
