// Runs to be queued in tests.

import type { NewRun } from '../../src/core/run.ts';

export type RunChanges = Partial<NewRun> & { maxRetries?: number; reportFailure?: boolean };

let made = 0;

/** A run with an id of its own; ids of one process sort in the order they were made. */
export function newRun(changes: RunChanges = {}): NewRun {
  const { maxRetries = 0, reportFailure = false, ...rest } = changes;
  made += 1;
  return {
    id: `run_${String(made).padStart(8, '0')}`,
    source: { kind: 'manual', name: 'test' },
    prompt: 'Say hello.',
    settings: { skills: [], toolsets: [], untrusted: false, silentMarker: false, reportFailure, maxRetries },
    addresses: [],
    createdAt: 1000,
    ...rest,
  };
}
