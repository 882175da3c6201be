// A process that uses a store until it is killed: `write` or `write-early` rows, or `work` on runs.
// Everything it claims to have done goes to stdout with synchronous writes, so that nothing is lost with the process.

import { appendFileSync, writeSync } from 'node:fs';
import { silentLog } from '../../src/core/log.ts';
import type { Step } from '../../src/core/step.ts';
import { createWorker } from '../../src/runs/worker.ts';
import { openStore } from '../../src/store/open.ts';
import { enqueueRun } from '../../src/store/runs.ts';
import type { Store } from '../../src/store/store.ts';
import { newId, realClock } from '../../src/system/clock.ts';
import { newRun } from './new-run.ts';

const WRITERS = 64;
const LAST_STEP = 5;

const [mode, where = '', ...rest] = process.argv.slice(2);
const store = await openStore(where.startsWith('postgres:') ? { url: where } : { file: where }, { mode: 'threaded' });
const say = (line: string): void => void writeSync(1, `${line}\n`);

if (mode === 'work') work(store, rest);
else for (let n = 0; n < WRITERS; n += 1) void write(store, mode === 'write-early');

/** Says an id when its row is acknowledged; the early one says it before, as a careless store would. */
async function write(to: Store, early: boolean): Promise<void> {
  for (;;) {
    const run = newRun({ id: newId('run'), prompt: 'x'.repeat(2000) });
    if (early) say(run.id);
    await to.write(enqueueRun(run));
    if (!early) say(run.id);
  }
}

/** Works step by step and notes each one in a file when it is really done; stops for ever before step `hangAt`. */
function work(on: Store, [journal = '', leaseMs = '15000', hangAt = '0']: string[]): void {
  const worker = createWorker({
    store: on,
    execute: async (run, { steps, record }) => {
      say(`attempt ${run.attempt} after ${steps.length} steps`);
      for (let next = steps.length + 1; next <= LAST_STEP; next += 1) {
        if (next === Number(hangAt)) await new Promise(() => setInterval(() => {}, 1000));
        appendFileSync(journal, `step ${next}\n`);
        const step: Step = { kind: 'tool_result', callId: `c${next}`, output: '', failed: false };
        await record(step);
        say(`step ${next}`);
      }
      return { kind: 'answer', text: 'All done.', silent: false };
    },
    concurrency: 4,
    clock: realClock,
    newId,
    log: silentLog,
    timeoutMs: 3_600_000,
    leaseMs: Number(leaseMs),
  });
  worker.start();
  say('ready');
}
