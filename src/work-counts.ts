// How much work there is, by state, for `svc gateway status` and /metrics.

import { deliveryCounts } from './store/deliveries.ts';
import { runCounts } from './store/runs.ts';
import type { Store } from './store/store.ts';

type Counts = Partial<Record<string, number>>;

export async function countWork(store: Store): Promise<{ runs: Counts; deliveries: Counts }> {
  const [runs, deliveries] = await Promise.all([store.read(runCounts({})), store.read(deliveryCounts({}))]);
  return { runs, deliveries };
}
