// A lock that the operating system holds for a living process and drops when it ends, however it ends: SQLite's own
// file lock on an empty file. A pid file would outlive a crash and then name a stranger.

import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { homeProblem } from './files.ts';

export interface InstanceLock {
  release(): void;
}

/** Whoever asks whether the lock is held takes it for a moment; the owner-to-be waits that long. */
const PATIENCE_MS = 1000;

/** The lock, or undefined while another process holds it. */
export function takeInstanceLock(path: string, patienceMs = PATIENCE_MS): InstanceLock | undefined {
  let database: DatabaseSync | undefined;
  try {
    closeSync(openSync(path, 'a', 0o600));
    database = new DatabaseSync(path, { timeout: patienceMs });
    database.exec('BEGIN EXCLUSIVE');
    const held = database;
    return { release: () => held.close() };
  } catch (error) {
    database?.close();
    if (isBusy(error)) return undefined;
    throw homeProblem(path, error);
  }
}

/** Whether a living process holds the lock. */
export function isInstanceLocked(path: string): boolean {
  const lock = takeInstanceLock(path, 0);
  lock?.release();
  return lock === undefined;
}

const SQLITE_BUSY = 5;

const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === SQLITE_BUSY;
