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
  delivery_key TEXT,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (session_id, seq)
);
CREATE INDEX session_entries_unshown ON session_entries (session_id, seq) WHERE shown = 0;
CREATE UNIQUE INDEX session_entries_delivery ON session_entries (delivery_key) WHERE delivery_key IS NOT NULL;
