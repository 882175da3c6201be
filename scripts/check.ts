// Everything that must hold before a change is good: types, lint, dead code, all tests. Each step says
// what it does and how long it took; the tests come last, so that their counts stand at the end.

import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const bin = (name: string): string => join(root, 'node_modules', '.bin', name);
const strict = /^(1|true)$/i.test(process.env.CI ?? '');

const TEST_FILES = ['src/**/*.test.ts', 'test/**/*.test.ts'];
/** A test that hangs ends its file, not the whole check. */
const TEST_TIMEOUT_MS = 240_000;

const wanted = process.argv.slice(2);
const testFiles = (wanted.length > 0 ? wanted : TEST_FILES)
  .flatMap((pattern) => globSync(pattern, { cwd: root }))
  .sort();

const steps: { name: string; command: string; args: string[] }[] = [
  { name: 'types', command: bin('tsc'), args: ['--noEmit'] },
  { name: 'lint', command: bin('biome'), args: ['check', '--error-on-warnings'] },
  { name: 'dead code', command: bin('knip'), args: ['--no-progress'] },
  {
    name: `tests (${testFiles.length} files)`,
    command: process.execPath,
    args: [
      '--test',
      `--test-concurrency=${Math.max(2, availableParallelism())}`,
      `--test-timeout=${TEST_TIMEOUT_MS}`,
      ...testFiles,
    ],
  },
];

const env = {
  ...process.env,
  NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compile'),
  ...(strict ? { SVC_E2E: 'required' } : {}),
};
// A settings folder of the person who runs the tests must not leak into them.
delete (env as NodeJS.ProcessEnv).SVC_HOME;

const begun = performance.now();
const results = steps.map(({ name, command, args }) => {
  console.log(`\n== ${name}`);
  const stepBegun = performance.now();
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit', env });
  if (error) console.error(error.message);
  return { name, ok: status === 0, seconds: (performance.now() - stepBegun) / 1000 };
});

console.log('\n== summary');
for (const { name, ok, seconds } of results)
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${name}  ${seconds.toFixed(1)} s`);
console.log(`total ${((performance.now() - begun) / 1000).toFixed(0)} s`);
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;
