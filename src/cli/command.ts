// The contract of a command: one file in commands/, one line in registry.ts, loaded only when it is called.

import type { Command } from 'commander';

export interface CliContext {
  env: NodeJS.ProcessEnv;
  cwd: string;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
}

export interface CommandModule {
  /**
   * Describes the command, its options, examples and actions on a fresh commander command of that name.
   * Actions write results to stdout and everything else to stderr, and throw SvcError for what went wrong; the program
   * turns that into one message and exit code 1 (2 for `usage`).
   */
  define(command: Command, context: CliContext): void;
}
