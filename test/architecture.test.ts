import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { ERROR_CODES } from '../src/core/errors.ts';
import {
  FLOORS,
  floorProblems,
  importCycles,
  nameProblems,
  purityProblems,
  type SourceFile,
} from './support/architecture.ts';

const root = resolve(import.meta.dirname, '..');
const allFiles: SourceFile[] = globSync('**/*.ts', { cwd: join(root, 'src') })
  .map((path) => ({ path: path.replaceAll('\\', '/'), text: readFileSync(join(root, 'src', path), 'utf8') }))
  .sort((a, b) => a.path.localeCompare(b.path));
/** Tests may look at everything. */
const files = allFiles.filter(({ path }) => !/\.(test|contract)\.ts$/.test(path));

test('a file imports from its own room and from lower floors only', () => {
  assert.deepEqual(floorProblems(files), []);
});

test('no file imports itself by a detour', () => {
  assert.deepEqual(importCycles(files), []);
});

test('core knows neither the machine nor the time nor chance', () => {
  assert.deepEqual(purityProblems(files), []);
});

test('files are named in kebab-case, say what they are for, and none is a barrel', () => {
  assert.deepEqual(nameProblems(allFiles), []);
});

test('every room of the table exists, and docs/architecture.md shows the same floors', () => {
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
  const rows = [...page.matchAll(/^\| (\d+) \| (.+?) \|/gm)].map((row) =>
    [...(row[2] ?? '').matchAll(/`([^`]+?)\/?`/g)].map((name) => name[1]),
  );
  assert.deepEqual(rows.reverse(), FLOORS);
  for (const room of FLOORS.flat()) {
    assert.ok(
      files.some(({ path }) => path === room || path.startsWith(`${room}/`)),
      `nothing in ${room}`,
    );
  }
});

test('docs/errors.md lists exactly the error codes', () => {
  const page = readFileSync(join(root, 'docs/errors.md'), 'utf8');
  const listed = [...page.matchAll(/^\| `([a-z_]+)` \|/gm)].map((row) => row[1]);
  assert.deepEqual(listed.sort(), [...ERROR_CODES].sort());
});

const file = (path: string, text: string): SourceFile => ({ path, text: `// x\n${text}` });

test('the floors test fails when a lower floor imports a higher one, a neighbour, or a type of either', () => {
  const cases: [SourceFile, RegExp][] = [
    [file('core/a.ts', "import { x } from '../runs/b.ts';"), /core\/a\.ts imports runs\/b\.ts: a higher floor/],
    [file('store/a.ts', "import type { X } from '../agent/b.ts';"), /a neighbour/],
    [file('store/deep/a.ts', "import {\n  type X,\n} from '../../agent/b.ts';"), /a neighbour/],
    [file('jobs/a.ts', "const b = await import('../cli/b.ts');"), /a higher floor/],
    [file('jobs/a.ts', "export { x } from '../tools/b.ts';"), /a higher floor/],
    [file('app.ts', "import './main.ts';"), /a higher floor/],
    [file('http/a.ts', "import '../gateway.ts';"), /a higher floor/],
    [file('elsewhere/a.ts', "import '../core/b.ts';"), /in no room/],
    [file('jobs/a.ts', "import { fastify } from 'fastify';"), /belongs to http/],
  ];
  for (const [wrong, expected] of cases) assert.match(floorProblems([wrong]).join('\n'), expected);
  const right = [
    file('jobs/a.ts', "import { x } from '../core/b.ts';\nimport { y } from './c.ts';"),
    file('core/b.ts', ''),
  ];
  assert.deepEqual(floorProblems(right), []);
});

test('the cycle test finds a ring of any length and leaves types and lazy imports alone', () => {
  const ring = [
    file('core/a.ts', "import './b.ts';"),
    file('core/b.ts', "import {\n  type X,\n  y,\n} from './c.ts';"),
    file('core/c.ts', "import './a.ts';"),
  ];
  assert.deepEqual(importCycles(ring), ['core/a.ts -> core/b.ts -> core/c.ts -> core/a.ts']);
  assert.deepEqual(
    importCycles([file('core/a.ts', "import './b.ts';"), file('core/b.ts', "await import('./a.ts');")]),
    [],
  );
  const typed = [file('core/a.ts', "import './b.ts';"), file('core/b.ts', "import type { X } from './a.ts';")];
  assert.deepEqual(importCycles(typed), []);
});

test('the name and purity tests find what they look for', () => {
  assert.equal(nameProblems([file('core/camelCase.ts', ''), file('core/utils.ts', '')]).length, 2);
  assert.equal(nameProblems([{ path: 'core/a.ts', text: 'export const x = 1;' }]).length, 1);
  assert.equal(nameProblems([file('core/a.ts', "export * from './b.ts';")]).length, 1);
  assert.equal(purityProblems([file('core/a.ts', 'const t = Date.now();')]).length, 1);
  assert.deepEqual(purityProblems([file('core/a.ts', '// not Date.now()\n/** nor process.exit */')]), []);
});
