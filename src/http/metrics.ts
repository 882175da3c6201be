// /metrics in the form Prometheus reads. The library is loaded at the first scrape: most homes have none, and its default
// metrics would wake the process a hundred times a second.

import type { Registry } from 'prom-client';

export interface MetricsSource {
  version: string;
  /** How many of each kind (`runs`, `deliveries`) are in each state. Asked at every scrape. */
  counts(): Promise<Record<string, Readonly<Partial<Record<string, number>>>>>;
}

/** Answered requests since the start, by route pattern, method and status. */
export interface HttpTally {
  add(route: string, method: string, status: number): void;
  entries(): Iterable<{ route: string; method: string; status: number; count: number }>;
}

export function createHttpTally(): HttpTally {
  const counts = new Map<string, { route: string; method: string; status: number; count: number }>();
  return {
    add(route, method, status) {
      const key = `${route} ${method} ${status}`;
      const known = counts.get(key) ?? { route, method, status, count: 0 };
      known.count += 1;
      counts.set(key, known);
    },
    entries: () => counts.values(),
  };
}

/** The text of one scrape. */
export function createMetrics(source: MetricsSource, tally: HttpTally): () => Promise<string> {
  let registry: Promise<Registry> | undefined;
  return async () => {
    registry ??= createRegistry(source, tally);
    return (await registry).metrics();
  };
}

async function createRegistry(source: MetricsSource, tally: HttpTally): Promise<Registry> {
  const { Counter, Gauge, Registry } = (await import('prom-client')).default;
  const registry = new Registry();
  const registers = [registry];
  new Gauge({ name: 'svc_info', help: 'The running version.', labelNames: ['version'], registers }).set(
    { version: source.version },
    1,
  );
  new Gauge({
    name: 'svc_work',
    help: 'Stored runs and deliveries by state.',
    labelNames: ['kind', 'state'],
    registers,
    async collect() {
      const kinds = await source.counts();
      this.reset();
      for (const [kind, states] of Object.entries(kinds)) {
        for (const [state, count] of Object.entries(states)) this.set({ kind, state }, count ?? 0);
      }
    },
  });
  new Counter({
    name: 'svc_http_requests_total',
    help: 'Answered requests since the start.',
    labelNames: ['route', 'method', 'status'],
    registers,
    collect() {
      this.reset();
      for (const { route, method, status, count } of tally.entries()) this.inc({ route, method, status }, count);
    },
  });
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory of the process.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Processor time of the process.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  const started = Math.round(Date.now() / 1000 - process.uptime());
  new Gauge({ name: 'process_start_time_seconds', help: 'When the process began.', registers }).set(started);
  return registry;
}
