CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  name_key TEXT NOT NULL UNIQUE,
  schedule TEXT NOT NULL,
  tz TEXT NOT NULL,
  anchor_at BIGINT NOT NULL,
  prompt TEXT NOT NULL,
  overlap TEXT NOT NULL,
  options TEXT NOT NULL,
  enabled INTEGER NOT NULL,
  paused_at BIGINT,
  pause_reason TEXT,
  revision INTEGER NOT NULL,
  next_run_at BIGINT,
  last_run_at BIGINT,
  last_status TEXT,
  last_error TEXT,
  last_success_at BIGINT,
  failures INTEGER NOT NULL DEFAULT 0,
  expect_every_ms BIGINT,
  alarm_at BIGINT,
  alarm TEXT,
  alarm_to TEXT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX jobs_due ON jobs (next_run_at, id) WHERE enabled = 1 AND next_run_at IS NOT NULL;
CREATE INDEX jobs_alarm ON jobs (alarm_at, id) WHERE enabled = 1 AND alarm_at IS NOT NULL;

CREATE TABLE job_slots (
  job_id TEXT NOT NULL,
  due_at BIGINT NOT NULL,
  last_due_at BIGINT NOT NULL,
  instants INTEGER NOT NULL,
  cause TEXT NOT NULL,
  cause_ref TEXT,
  context TEXT,
  state TEXT NOT NULL,
  late INTEGER NOT NULL,
  reason TEXT NOT NULL,
  note TEXT,
  run_id TEXT,
  owner TEXT,
  lease_until BIGINT,
  recorded_at BIGINT NOT NULL,
  ended_at BIGINT,
  PRIMARY KEY (job_id, due_at)
);
CREATE INDEX job_slots_open ON job_slots (job_id, due_at) WHERE state IN ('waiting', 'scripting', 'running');
CREATE INDEX job_slots_scripts ON job_slots (due_at, job_id) WHERE state IN ('waiting', 'scripting');
CREATE INDEX job_slots_ended ON job_slots (ended_at) WHERE ended_at IS NOT NULL;
CREATE UNIQUE INDEX job_slots_cause ON job_slots (job_id, cause_ref) WHERE cause_ref IS NOT NULL;
