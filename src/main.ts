// argv in, exit code out.

import { runProgram } from './cli/program.ts';

// A reader that has seen enough (`svc runs list | head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

const { env, stdin, stdout, stderr } = process;
process.exitCode = await runProgram(process.argv.slice(2), { env, cwd: process.cwd(), stdin, stdout, stderr });
