// The file of dynamic subscriptions: one JSON object, name to route. Written whole, for its owner only.
// Reading needs no schema library, so that listing stays quick; the gateway validates each record in routes.ts.

import { closeSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { messageOf, SvcError } from '../core/errors.ts';
import { isMissing, writeFileAtomic } from '../system/files.ts';

/** A record as it stands in the file. The keys of a route, and when it was made. */
export type SubscriptionRecord = Readonly<Record<string, unknown>>;
export type Subscriptions = ReadonlyMap<string, SubscriptionRecord>;

/** Throws a plain sentence when the text is not an object of objects. No file means no subscriptions. */
export function parseSubscriptions(text: string | undefined): Subscriptions {
  if (text === undefined) return new Map();
  const parsed: unknown = JSON.parse(text);
  if (!isRecord(parsed)) throw new Error('it is not a JSON object');
  const subscriptions = new Map<string, SubscriptionRecord>();
  for (const [name, record] of Object.entries(parsed)) if (isRecord(record)) subscriptions.set(name, record);
  return subscriptions;
}

export function readSubscriptions(file: string): Subscriptions {
  try {
    return parseSubscriptions(textIfExists(file));
  } catch (error) {
    throw new SvcError('config_invalid', `${file} cannot be read: ${messageOf(error)}.`, {
      help: 'Mend the file, or move it away and subscribe again.',
      cause: error,
    });
  }
}

/** Reads, changes and writes the file as one step, also beside another process that does the same. */
export function changeSubscriptions<T>(file: string, change: (subscriptions: Map<string, SubscriptionRecord>) => T): T {
  return withLock(`${file}.lock`, () => {
    const subscriptions = new Map(readSubscriptions(file));
    const result = change(subscriptions);
    writeFileAtomic(file, `${JSON.stringify(Object.fromEntries(subscriptions), null, 2)}\n`);
    return result;
  });
}

const LOCK_WAIT_MS = 5000;
/** A change takes milliseconds: a lock this old belongs to a process that died. */
const STALE_LOCK_MS = 10_000;

function withLock<T>(lock: string, work: () => T): T {
  const giveUpAt = Date.now() + LOCK_WAIT_MS;
  while (!tryLock(lock)) {
    if (Date.now() > giveUpAt)
      throw new SvcError('conflict', 'Another command is changing the subscriptions.', {
        help: `Try again; if no other command runs, remove ${lock}.`,
      });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
  try {
    return work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function tryLock(lock: string): boolean {
  try {
    closeSync(openSync(lock, 'wx', 0o600));
    return true;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > STALE_LOCK_MS) rmSync(lock, { force: true });
    return false;
  }
}

function textIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
