CREATE TABLE deliveries (
  id TEXT PRIMARY KEY,
  run_id TEXT,
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  address TEXT NOT NULL,
  order_key TEXT,
  text TEXT NOT NULL,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  parts_sent INTEGER NOT NULL DEFAULT 0,
  next_attempt_at BIGINT NOT NULL,
  fence INTEGER NOT NULL DEFAULT 0,
  owner TEXT,
  lease_until BIGINT,
  receipt TEXT,
  note TEXT,
  last_error TEXT,
  uncertain INTEGER NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  ended_at BIGINT
);
CREATE INDEX deliveries_waiting ON deliveries (next_attempt_at, id) WHERE state = 'waiting';
CREATE INDEX deliveries_sending ON deliveries (lease_until) WHERE state = 'sending';
CREATE INDEX deliveries_order ON deliveries (order_key, id) WHERE state IN ('waiting', 'sending');
CREATE INDEX deliveries_run ON deliveries (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX deliveries_dead ON deliveries (ended_at) WHERE state = 'dead';
