// Writes test/recordings/cdp: plays each browser scenario live and stores the events that its supervisor took in.
// Run it with `node scripts/record-cdp.ts [scenario ...]` after the rules or the scenarios changed what is listened to.

import { mkdir, writeFile } from 'node:fs/promises';
import { scenarioPages, scenarios } from '../test/support/browser-scenarios.ts';
import { openTheatre } from '../test/support/browser-stage.ts';
import { playScenario } from '../test/support/play-scenario.ts';

const wanted = process.argv.slice(2);
const folder = new URL('../test/recordings/cdp/', import.meta.url);
await mkdir(folder, { recursive: true });
const theatre = await openTheatre(scenarioPages);
try {
  for (const scenario of scenarios) {
    if (wanted.length > 0 && !wanted.includes(scenario.name)) continue;
    const recording = await playScenario(theatre, scenario);
    await writeFile(new URL(`${scenario.name}.jsonl`, folder), recording);
    console.log(`${scenario.name}: ${recording.split('\n').length - 1} lines, ${recording.length} bytes`);
  }
} finally {
  await theatre.close();
}
