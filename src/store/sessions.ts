// Chat sessions and what was said in them. A session exists from its first entry on; entries are only ever added.

import type { Session, SessionEntry, StoredEntry } from '../core/session.ts';
import { defineOperation, lock, type Row, type Steps, sql } from './operation.ts';

const TITLE_LENGTH = 80;

/** Adds entries said in the chat itself; creates the session when it has none yet. */
export const appendToSession = defineOperation(
  'sessions.append',
  function* (input: { sessionId: string; entries: SessionEntry[]; at: number }): Steps<void> {
    const first = input.entries[0];
    if (!first) return;
    const title = first.kind === 'prompt' ? titleOf(first.text) : '';
    yield* sql(
      `INSERT INTO sessions (id, title, created_at, updated_at) VALUES ($1, $2, $3, $3)
       ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at`,
      input.sessionId,
      title,
      input.at,
    );
    for (const entry of input.entries) yield* insertEntry(input.sessionId, entry, input.at);
  },
);

/** Makes the session known before anything was said in it, so that messages can be delivered to it. */
export const keepSession = defineOperation(
  'sessions.keep',
  function* (input: { sessionId: string; title: string; at: number }): Steps<void> {
    yield* sql(
      `INSERT INTO sessions (id, title, created_at, updated_at) VALUES ($1, $2, $3, $3) ON CONFLICT (id) DO NOTHING`,
      input.sessionId,
      titleOf(input.title),
      input.at,
    );
  },
);

/**
 * Puts a message from elsewhere into a session, to be shown at its next prompt. False when there is no such session.
 * The same key is put in once, however often it is tried.
 */
export const deliverToSession = defineOperation(
  'sessions.deliver',
  function* (input: { sessionId: string; key: string; text: string; source: string; at: number }): Steps<boolean> {
    const { rows } = yield* sql('SELECT id FROM sessions WHERE id = $1', input.sessionId);
    if (rows.length === 0) return false;
    yield* lock(`session:${input.sessionId}`);
    const earlier = yield* sql('SELECT seq FROM session_entries WHERE delivery_key = $1', input.key);
    if (earlier.rows.length > 0) return true;
    const entry: SessionEntry = { kind: 'delivered', text: input.text, source: input.source };
    yield* insertEntry(input.sessionId, entry, input.at, input.key);
    return true;
  },
);

/** Delivered messages that nobody has seen yet; they count as seen from now on. */
export const takeUnshown = defineOperation('sessions.take_unshown', function* (input: { sessionId: string }): Steps<
  StoredEntry[]
> {
  const { rows } = yield* sql(
    'SELECT * FROM session_entries WHERE session_id = $1 AND shown = 0 ORDER BY seq',
    input.sessionId,
  );
  for (const row of rows) {
    yield* sql(
      'UPDATE session_entries SET shown = 1 WHERE session_id = $1 AND seq = $2',
      input.sessionId,
      row.seq ?? 0,
    );
  }
  return rows.map(toEntry);
});

/** True when a delivered message waits to be shown: cheap enough to ask every few seconds. */
export const hasUnshown = defineOperation(
  'sessions.has_unshown',
  function* (input: { sessionId: string }): Steps<boolean> {
    const { rows } = yield* sql(
      'SELECT seq FROM session_entries WHERE session_id = $1 AND shown = 0 LIMIT 1',
      input.sessionId,
    );
    return rows.length > 0;
  },
);

export const readSession = defineOperation('sessions.read', function* (input: { sessionId: string }): Steps<
  { session: Session; entries: StoredEntry[] } | undefined
> {
  const { rows } = yield* sql('SELECT * FROM sessions WHERE id = $1', input.sessionId);
  const row = rows[0];
  if (!row) return undefined;
  const found = yield* sql('SELECT * FROM session_entries WHERE session_id = $1 ORDER BY seq', input.sessionId);
  return { session: toSession(row), entries: found.rows.map(toEntry) };
});

/** Newest first. */
export const listSessions = defineOperation('sessions.list', function* (input: { limit: number }): Steps<Session[]> {
  const { rows } = yield* sql('SELECT * FROM sessions ORDER BY updated_at DESC, id DESC LIMIT $1', input.limit);
  return rows.map(toSession);
});

/** Entries with a delivery key wait to be shown; the others were seen when they were said. */
function* insertEntry(sessionId: string, entry: SessionEntry, at: number, deliveryKey?: string): Steps<void> {
  // A delivery from another process may arrive while the person types: the numbers must not meet.
  yield* lock(`session:${sessionId}`);
  yield* sql(
    `INSERT INTO session_entries (session_id, seq, entry, shown, delivery_key, created_at)
     VALUES ($1, (SELECT COALESCE(MAX(seq), 0) + 1 FROM session_entries WHERE session_id = $1), $2, $3, $4, $5)`,
    sessionId,
    JSON.stringify(entry),
    deliveryKey === undefined ? 1 : 0,
    deliveryKey ?? null,
    at,
  );
}

function titleOf(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ');
  const characters = Array.from(line);
  return characters.length <= TITLE_LENGTH ? line : `${characters.slice(0, TITLE_LENGTH - 1).join('')}…`;
}

const toSession = (row: Row): Session => ({
  id: String(row.id),
  title: String(row.title),
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
});

const toEntry = (row: Row): StoredEntry => ({
  seq: Number(row.seq),
  entry: JSON.parse(String(row.entry)) as SessionEntry,
  shown: row.shown === 1,
  createdAt: Number(row.created_at),
});
