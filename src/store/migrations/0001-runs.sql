CREATE TABLE runs (
  id TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  source_kind TEXT NOT NULL,
  source_name TEXT NOT NULL,
  source_ref TEXT,
  prompt TEXT NOT NULL,
  settings TEXT NOT NULL,
  addresses TEXT NOT NULL,
  -- Runs of one queue start in order; queues take turns.
  queue TEXT NOT NULL,
  limit_key TEXT,
  limit_max INTEGER,
  serial_key TEXT,
  attempt INTEGER NOT NULL DEFAULT 0,
  owner TEXT,
  lease_until BIGINT,
  cancel_requested INTEGER NOT NULL DEFAULT 0,
  retries INTEGER NOT NULL DEFAULT 0,
  -- How many workers died while they held it.
  takeovers INTEGER NOT NULL DEFAULT 0,
  steps INTEGER NOT NULL DEFAULT 0,
  answer TEXT,
  error TEXT,
  created_at BIGINT NOT NULL,
  available_at BIGINT NOT NULL,
  started_at BIGINT,
  ended_at BIGINT
);
CREATE INDEX runs_queued ON runs (queue, id) WHERE state = 'queued';
CREATE INDEX runs_leased ON runs (lease_until) WHERE state = 'running';
CREATE INDEX runs_limited ON runs (limit_key) WHERE state = 'running' AND limit_key IS NOT NULL;
CREATE INDEX runs_serial ON runs (serial_key) WHERE state = 'running' AND serial_key IS NOT NULL;
CREATE INDEX runs_state ON runs (state, id);
CREATE INDEX runs_source ON runs (source_kind, source_name, id);
CREATE INDEX runs_ended ON runs (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE run_steps (
  run_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  step TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (run_id, seq)
);
