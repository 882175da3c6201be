// `npm run bench -- [name ...] [--write]`: runs bench/<name>.ts (all of them without a name), prints what was measured against
// which goal, and fails when a goal is missed. `--write` puts the table into docs/performance.md.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { lineOf, type Result } from '../bench/report.ts';

const root = resolve(import.meta.dirname, '..');
const PAGE = join(root, 'docs/performance.md');

const known = readdirSync(join(root, 'bench'))
  .filter((file) => file.endsWith('.ts') && file !== 'report.ts')
  .map((file) => file.slice(0, -3))
  .sort();
const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const unknown = names.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}. Known: ${known.join(', ')}`);
  process.exit(2);
}

let missed = false;
for (const name of names.length > 0 ? names : known) {
  console.log(`== ${name}`);
  const { run } = (await import(`../bench/${name}.ts`)) as { run(): Promise<Result[]> };
  const results = await run();
  for (const result of results) console.log(lineOf(result));
  missed ||= results.some((result) => !result.met);
  if (process.argv.includes('--write')) writeSection(name, results);
}
process.exit(missed ? 1 : 0);

/** Replaces the section of one benchmark and leaves the rest of the page alone. */
function writeSection(name: string, results: readonly Result[]): void {
  const begin = `<!-- bench ${name} -->`;
  const end = `<!-- end ${name} -->`;
  const date = new Date().toISOString().slice(0, 10);
  const section = [
    begin,
    '',
    `Measured ${date} with \`npm run bench -- ${name}\`, Node ${process.versions.node}, ${cpus().length} cores.`,
    '',
    '| What | Measured | Goal | Met | Figures |',
    '|---|---|---|---|---|',
    ...results.map(
      (row) =>
        `| ${row.name} | ${row.value.toFixed(2)}${row.unit} | ${row.goal} | ${row.met ? 'yes' : '**no**'} | ${row.detail} |`,
    ),
    '',
    end,
  ].join('\n');
  const page = readFileSync(PAGE, 'utf8');
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  const written =
    from === -1
      ? `${page.trimEnd()}\n\n## ${name}\n\n${section}\n`
      : page.slice(0, from) + section + page.slice(to + end.length);
  writeFileSync(PAGE, written);
}
