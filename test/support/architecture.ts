// The rules of the house as functions over a list of files, so that the rules themselves can be tested.

import { posix } from 'node:path';

export interface SourceFile {
  /** Relative to src, with forward slashes. */
  path: string;
  text: string;
}

/** From the ground up. A file imports from its own room and from lower floors, never from a neighbour. */
export const FLOORS: readonly (readonly string[])[] = [
  ['core'],
  ['system'],
  ['config'],
  ['store', 'delivery', 'agent', 'browser'],
  ['runs', 'outbox'],
  ['webhooks', 'jobs'],
  ['tools', 'chat'],
  ['http', 'mcp'],
  ['app.ts'],
  ['cli'],
  ['main.ts'],
];

/** Packages that only one room may know. */
const KEPT_IN: Readonly<Record<string, string>> = {
  fastify: 'http/',
  ai: 'agent/models/',
  '@ai-sdk/openai-compatible': 'agent/models/',
  pg: 'store/postgres/',
  pino: 'system/',
  commander: 'cli/',
  '@clack/prompts': 'cli/',
};

const BANNED_NAMES = /^(utils?|helpers?|common|types?|manager|services?|base|index)$/;

export interface Import {
  from: string;
  /** As written. */
  specifier: string;
  /** Relative to src; undefined for packages. */
  target: string | undefined;
  /** Loaded when the importing file is: not a type, not an `import()` inside a function. */
  eager: boolean;
}

export function importsOf(file: SourceFile): Import[] {
  const found: Import[] = [];
  const add = (specifier: string, eager: boolean): void => {
    const relative = specifier.startsWith('.');
    const target = relative ? posix.normalize(posix.join(posix.dirname(file.path), specifier)) : undefined;
    found.push({ from: file.path, specifier, target, eager });
  };
  for (const match of file.text.matchAll(/^(?:import|export)\b( type\b)?[^'"`;]*?from\s+'([^']+)'/gm)) {
    add(match[2] ?? '', match[1] === undefined);
  }
  for (const match of file.text.matchAll(/^import\s+'([^']+)'/gm)) add(match[1] ?? '', true);
  for (const match of file.text.matchAll(/\bimport\(\s*'([^']+)'/g)) add(match[1] ?? '', false);
  return found;
}

/** The files beside app.ts are one room with it: the composition root. */
const roomOf = (path: string): string => {
  const [room = path] = path.split('/', 1);
  return path.includes('/') || path === 'main.ts' ? room : 'app.ts';
};
const floorOf = (path: string): number => FLOORS.findIndex((rooms) => rooms.includes(roomOf(path)));

/** Sentences about imports that go up, sideways or out of the table. */
export function floorProblems(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) =>
    importsOf(file).flatMap(({ target, specifier }) => {
      if (target === undefined) return packageProblems(file.path, specifier);
      if (floorOf(file.path) === -1) return [`${file.path} is in no room of the table`];
      if (floorOf(target) === -1) return [`${file.path} imports ${target}, which is in no room of the table`];
      if (roomOf(file.path) === roomOf(target)) return [];
      if (floorOf(target) < floorOf(file.path)) return [];
      const way = floorOf(target) === floorOf(file.path) ? 'a neighbour' : 'a higher floor';
      return [`${file.path} imports ${target}: ${way}`];
    }),
  );
}

function packageProblems(path: string, specifier: string): string[] {
  const room = Object.entries(KEPT_IN).find(([name]) => specifier === name || specifier.startsWith(`${name}/`))?.[1];
  return room === undefined || path.startsWith(room) ? [] : [`${path} imports ${specifier}, which belongs to ${room}`];
}

/** Every ring of files that load one another, as the path around it. Types vanish before anything is loaded. */
export function importCycles(files: readonly SourceFile[]): string[] {
  const next = new Map(
    files.map((file) => [
      file.path,
      importsOf(file).flatMap(({ target, eager }) => (target === undefined || !eager ? [] : [target])),
    ]),
  );
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, above: readonly string[]): void => {
    const start = above.indexOf(path);
    if (start !== -1) cycles.push([...above.slice(start), path].join(' -> '));
    if (start !== -1 || done.has(path)) return;
    for (const target of next.get(path) ?? []) visit(target, [...above, path]);
    done.add(path);
  };
  for (const path of next.keys()) visit(path, []);
  return cycles;
}

/** What `core` must not know: the machine, the time, chance. */
export function purityProblems(files: readonly SourceFile[]): string[] {
  const impure =
    /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bprocess\.|\bperformance\.|\bfetch\(|\bset(?:Timeout|Interval)\(/;
  return files
    .filter((file) => roomOf(file.path) === 'core' && !file.path.endsWith('.test.ts'))
    .flatMap((file) => {
      const code = file.text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
      const builtins = importsOf(file).filter(({ specifier }) => specifier.startsWith('node:'));
      const found = [...builtins.map(({ specifier }) => specifier), ...(impure.exec(code) ?? [])];
      return found.map((what) => `${file.path} uses ${what}`);
    });
}

export function nameProblems(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    const problems: string[] = [];
    const steps = path
      .replace(/\.ts$/, '')
      .replace(/\.(test|contract)$/, '')
      .split('/');
    if (steps.some((step) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(step))) problems.push(`${path} is not kebab-case`);
    if (steps.some((step) => BANNED_NAMES.test(step))) problems.push(`${path} has a name that says nothing`);
    if (/^export \* from/m.test(text)) problems.push(`${path} is a barrel`);
    if (!/\.test\.ts$/.test(path) && !text.startsWith('// ')) problems.push(`${path} does not say what it is for`);
    return problems;
  });
}
