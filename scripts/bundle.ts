// Makes dist/ for the npm package: all code and all libraries as plain JavaScript, in chunks that load when they are
// needed. The package therefore has no dependencies; their licences go along.

import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const root = resolve(import.meta.dirname, '..');
const out = join(root, 'dist');

rmSync(out, { recursive: true, force: true });
const bundle = await rolldown({
  // The writer thread is a program of its own; everything else is reached from main.
  input: { main: join(root, 'src/main.ts'), 'writer-thread': join(root, 'src/store/sqlite/writer-thread.ts') },
  platform: 'node',
  // The same library as ES modules: only what is used is kept, and it loads in half the time.
  resolve: { alias: { yaml: join(root, 'node_modules/yaml/browser/index.js') } },
  // Optional parts of libraries that have a fallback when these are absent.
  plugins: [
    {
      name: 'light-commander',
      // It loads a tenth of Node for subcommands that are programs of their own (this one has none), and importing
      // node:process as a module opens all three standard streams.
      transform(code, id) {
        return id.endsWith('commander/lib/command.js')
          ? code
              .replace("import childProcess from 'node:child_process';", 'const childProcess = {};')
              .replace("import process from 'node:process';", '')
          : undefined;
      },
    },
  ],
  external: ['pg-native', 'bufferutil', 'utf-8-validate'],
  onLog(level, log, handle) {
    if (level === 'warn' && log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message);
    if (log.code === 'EVAL' || log.code === 'CIRCULAR_DEPENDENCY') return;
    handle(level, log);
  },
});
const { output } = await bundle.write({
  dir: out,
  // Loads faster than ES modules, which pay for every name a built-in exports.
  format: 'cjs',
  entryFileNames: '[name].cjs',
  // One flat folder: files that stand beside the code (migrations) are found the same way from every chunk.
  chunkFileNames: '[name]-[hash].cjs',
  // What every command loads is one file: each further one costs start-up time.
  codeSplitting: {
    groups: [
      {
        name: 'base',
        test: /src\/(core\/(errors|nearest|untrusted|names)|config\/(paths|peek)|system\/(files|instance-lock)|cli\/(listing|program|registry|find-gateway))\.ts$/,
      },
    ],
  },
  minify: { compress: true, mangle: false, codegen: false },
});
await bundle.close();

cpSync(join(root, 'src/store/migrations'), join(out, 'migrations'), { recursive: true });
const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []));
writeFileSync(join(out, 'THIRD-PARTY-LICENSES.txt'), licences(modules));
const bytes = output.reduce((sum, chunk) => sum + (chunk.type === 'chunk' ? chunk.code.length : 0), 0);
console.log(`dist: ${output.length} files, ${(bytes / 1024 / 1024).toFixed(1)} MB`);

function licences(moduleIds: readonly string[]): string {
  const folders = new Set(moduleIds.flatMap((id) => packageFolder(id) ?? []));
  return [...folders]
    .sort()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
      const text = file === undefined ? '' : `\n\n${readFileSync(join(folder, file), 'utf8').trim()}`;
      return `${name} ${version} (${license})${text}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}

/** The folder of the installed package that a module belongs to. */
function packageFolder(id: string): string | undefined {
  if (!id.includes('node_modules')) return undefined;
  let folder = dirname(id);
  while (!existsSync(join(folder, 'package.json')) || !/node_modules[\\/](@[^\\/]+[\\/])?[^\\/]+$/.test(folder)) {
    const above = dirname(folder);
    if (above === folder) return undefined;
    folder = above;
  }
  return folder;
}
