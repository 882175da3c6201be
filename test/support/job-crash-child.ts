// A process that fires jobs on a clock of its own and can be told to die by kill -9 right before its Nth write to the store.
// argv: folder, number of minutes to play. SVC_TEST_DIE_BEFORE_WRITE=N makes it die. The clock goes on where it stopped.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runScript } from '../../src/jobs/script.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { jobHouse } from './job-house.ts';

const MINUTE = 60_000;
const [folder = '', minutes = '0'] = process.argv.slice(2);
const clockFile = join(folder, 'clock');

const store = await openStore({ file: join(folder, 'svc.db') }, { mode: 'inline' });
const dieBefore = Number(process.env.SVC_TEST_DIE_BEFORE_WRITE ?? 0);
let writes = 0;
const mortal: Store = {
  ...store,
  write: (operation) => {
    writes += 1;
    if (writes === dieBefore) process.kill(process.pid, 'SIGKILL');
    return store.write(operation);
  },
};

const house = jobHouse({
  store: mortal,
  start: Number(readFileSync(clockFile, 'utf8')),
  runScript: ({ job, slot }, signal) =>
    runScript({
      path: job.options.script ?? '',
      places: { scripts: folder, confined: false },
      env: process.env,
      facts: { SVC_DUE_AT: new Date(slot.dueAt).toISOString(), SVC_HOME: folder },
      timeoutMs: 20_000,
      signal,
    }),
});

for (let minute = 0; minute < Number(minutes); minute += 1) {
  house.clock.pass(MINUTE);
  // Written first: after a crash the clock is where it was, as real clocks are.
  writeFileSync(clockFile, String(house.clock.now()));
  await house.scheduler.tick();
  await house.scripts.look();
  await house.scripts.idle();
  await house.answerAll({ answer: 'done', silent: true });
}
await store.close();
process.stdout.write(`${writes}\n`);
