CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  title TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX sessions_updated ON sessions (updated_at, id);

CREATE TABLE session_entries (
  session_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  entry TEXT NOT NULL,
  shown INTEGER NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (session_id, seq)
);
CREATE INDEX session_entries_unshown ON session_entries (session_id, seq) WHERE shown = 0;
