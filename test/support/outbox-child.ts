// A process that sends what waits in a store until it is killed: `outbox-child.ts <database file> <url of the double>`.
// Leases are short, so that what a killed process held is taken over soon.

import { writeSync } from 'node:fs';
import { configSchema } from '../../src/config/schema.ts';
import { silentLog } from '../../src/core/log.ts';
import { createDelivery } from '../../src/delivery/deliver.ts';
import { startOutbox } from '../../src/outbox/outbox.ts';
import { openStore } from '../../src/store/open.ts';
import { newId, realClock } from '../../src/system/clock.ts';

const [file = '', url = ''] = process.argv.slice(2);
const store = await openStore({ file }, { mode: 'threaded' });
const extra = { base_url: url };
const { platforms } = configSchema.parse({
  platforms: {
    telegram: { enabled: true, token: 'token-1', extra },
    matrix: { enabled: true, token: 'token-2', extra },
  },
});
const deliverer = createDelivery({
  platforms,
  allowPrivate: true,
  log: silentLog,
  now: realClock.now,
  deliveriesFolder: '',
  env: {},
});
startOutbox({
  store,
  deliverer,
  clock: realClock,
  log: silentLog,
  owner: newId('child'),
  concurrency: 16,
  keepMs: 1e12,
  leaseMs: 600,
  pollMs: 50,
});
writeSync(1, 'ready\n');
