// A process that writes to a store on a disk that fails, and says what it was told.
// With a filler file it makes room afterwards and tries once more.

import { rmSync, writeSync } from 'node:fs';
import { SvcError } from '../../src/core/errors.ts';
import { openStore } from '../../src/store/open.ts';
import { enqueueRun, runCounts } from '../../src/store/runs.ts';
import { newId } from '../../src/system/clock.ts';
import { newRun } from './new-run.ts';

const MOST_ROWS = 2000;

const [file = '', mode, filler] = process.argv.slice(2);
const say = (line: string): void => void writeSync(1, `${line}\n`);

try {
  const store = await openStore(
    { file },
    { mode: mode === 'inline' ? 'inline' : 'threaded', onFatal: ({ code }) => say(`fatal ${code}`) },
  );
  const write = async (): Promise<string> => {
    try {
      await store.write(enqueueRun(newRun({ id: newId('run'), prompt: 'x'.repeat(4000) })));
      return 'stored';
    } catch (error) {
      return error instanceof SvcError ? error.code : String(error);
    }
  };
  let rows = 0;
  let outcome = await write();
  while (outcome === 'stored' && rows < MOST_ROWS) {
    rows += 1;
    outcome = await write();
  }
  say(`first ${outcome}`);
  say(`then ${await write()}`);
  if (filler !== undefined) {
    rmSync(filler);
    outcome = await write();
    if (outcome === 'stored') rows += 1;
    say(`with room ${outcome}`);
  }
  const { queued = 0 } = await store.read(runCounts({}));
  say(`rows ${queued === rows ? 'as acknowledged' : `${queued} instead of ${rows}`}`);
  await store.close();
} catch (error) {
  say(`open ${error instanceof SvcError ? `${error.code}: ${error.message}` : error}`);
}
