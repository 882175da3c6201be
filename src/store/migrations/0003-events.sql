CREATE TABLE events (
  id TEXT PRIMARY KEY,
  route TEXT NOT NULL,
  event TEXT NOT NULL,
  delivery_id TEXT NOT NULL,
  -- accepted, ignored, filtered, pending, delivered, failed, unknown
  verdict TEXT NOT NULL,
  reason TEXT,
  run_id TEXT,
  received_at BIGINT NOT NULL,
  bytes INTEGER NOT NULL,
  -- Route and delivery id while they are taken; null when a repetition is welcome.
  delivery_key TEXT,
  -- Route and digest of the body, for routes that treat equal bodies as one.
  body_key TEXT,
  headers TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE UNIQUE INDEX events_delivery ON events (delivery_key) WHERE delivery_key IS NOT NULL;
CREATE UNIQUE INDEX events_body ON events (body_key) WHERE body_key IS NOT NULL;
CREATE INDEX events_pending ON events (received_at) WHERE verdict = 'pending';

CREATE TABLE route_counters (
  route TEXT PRIMARY KEY,
  window_start BIGINT NOT NULL,
  window_count INTEGER NOT NULL,
  stored_bytes BIGINT NOT NULL
);
