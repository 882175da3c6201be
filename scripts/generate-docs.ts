// Writes the pages that are read off the source. `--check` writes nothing and fails when one of them lags.
// `--into <folder>` works on another copy of the tree than this one.
// A further page is one file in pages/ and one line here.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { cliPage } from './pages/cli.ts';
import { configSchemaFile, configurationPage } from './pages/configuration.ts';
import { deliveryPage } from './pages/delivery.ts';
import { toolsPage } from './pages/tools.ts';

const pages: readonly { path: string; make: () => Promise<string> }[] = [
  { path: 'config.schema.json', make: configSchemaFile },
  { path: 'docs/configuration.md', make: configurationPage },
  { path: 'docs/cli.md', make: cliPage },
  { path: 'docs/delivery.md', make: deliveryPage },
  { path: 'docs/tools.md', make: toolsPage },
];

const { values } = parseArgs({ options: { check: { type: 'boolean' }, into: { type: 'string' } } });
const root = values.into ?? resolve(import.meta.dirname, '..');
const check = values.check === true;
let lagging = 0;
for (const { path, make } of pages) {
  const file = join(root, path);
  const text = await make();
  if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
  lagging += 1;
  if (check) console.error(`${path} is not what the source says. Run: npm run docs`);
  else {
    writeFileSync(file, text);
    console.log(`wrote ${path}`);
  }
}
if (check && lagging > 0) process.exitCode = 1;
else console.log(lagging === 0 ? 'All generated pages are up to date.' : '');
