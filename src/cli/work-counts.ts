// How much work there is, by state, read from the store.

import { existsSync } from 'node:fs';
import { deliveryCounts } from '../store/deliveries.ts';
import { runCounts } from '../store/runs.ts';
import type { CliContext } from './command.ts';
import { withApp } from './with-app.ts';

export interface WorkCounts {
  runs: Partial<Record<string, number>>;
  deliveries: Partial<Record<string, number>>;
}

export function countWork(context: CliContext): Promise<WorkCounts> {
  return withApp(context, async (app) => {
    const { config } = await app.config();
    // Asking must not create a database where nothing has run yet.
    if (config.database.url === undefined && !existsSync(app.paths.database)) return { runs: {}, deliveries: {} };
    const store = await app.store();
    return { runs: await store.read(runCounts({})), deliveries: await store.read(deliveryCounts({})) };
  });
}
