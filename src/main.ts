// argv in, exit code out.

import { VERSION } from './cli/version.ts';

/** Opened when first used: each of the three streams costs a quick command a few milliseconds. */
const context = {
  env: process.env,
  cwd: process.cwd(),
  get stdin() {
    return process.stdin;
  },
  get stdout() {
    // A reader that has seen enough (`svc runs list | head`) is no error.
    if (process.stdout.listenerCount('error') === 0) {
      process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
    }
    return process.stdout;
  },
  get stderr() {
    return process.stderr;
  },
};

const argv = process.argv.slice(2);
// Asked by scripts and prompts all day: answered before anything is loaded.
if (argv[0] === '--version' || argv[0] === '-V') context.stdout.write(`${VERSION}\n`);
else {
  // No top-level await: the bundle is CommonJS.
  void import('./cli/program.ts').then(async ({ runProgram }) => {
    process.exitCode = await runProgram(argv, context);
  });
}
