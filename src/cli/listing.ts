// How results are printed: a table for people, JSON for programs. Text from outside cannot drive the terminal.

import { styleText } from 'node:util';
import type { Command } from 'commander';
import { showInvisible } from '../core/untrusted.ts';
import type { CliContext } from './command.ts';

export interface Column<T> {
  title: string;
  value(row: T): string | number | undefined;
}

/** A table, or a JSON list of `toJson(row)` with `--json`, or the sentence `empty` when there is nothing. */
export function printListing<T>(
  { stdout }: Pick<CliContext, 'stdout'>,
  rows: readonly T[],
  options: { json: boolean; columns: readonly Column<T>[]; toJson(row: T): unknown; empty: string },
): void {
  if (options.json) printJson({ stdout }, rows.map(options.toJson));
  else stdout.write(rows.length === 0 ? `${options.empty}\n` : table(rows, options.columns, stdout));
}

export function printJson({ stdout }: Pick<CliContext, 'stdout'>, value: unknown): void {
  stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Names and values under each other, for the details of one thing. Entries without a value are left out. */
export function printDetails(
  { stdout }: Pick<CliContext, 'stdout'>,
  entries: readonly (readonly [name: string, value: string | number | undefined])[],
): void {
  const shown = entries.filter(([, value]) => value !== undefined && value !== '');
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  for (const [name, value] of shown) {
    const lines = showInvisible(String(value)).split('\n');
    stdout.write(`${name.padEnd(width)}  ${lines.join(`\n${' '.repeat(width + 2)}`)}\n`);
  }
}

/** Adds an Examples section to the help of a command. */
export function addExamples(command: Command, examples: readonly string[]): Command {
  return command.addHelpText('after', `\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`);
}

function table<T>(rows: readonly T[], columns: readonly Column<T>[], stdout: NodeJS.WriteStream): string {
  const cells = rows.map((row) => columns.map((column) => oneLine(column.value(row))));
  const widths = columns.map((column, index) =>
    Math.max(column.title.length, ...cells.map((row) => row[index]?.length ?? 0)),
  );
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, index) => (index === texts.length - 1 ? text : text.padEnd(widths[index] ?? 0)))
      .join('  ')
      .trimEnd();
  const head = line(columns.map((column) => column.title));
  return `${stdout.isTTY ? styleText('bold', head, { stream: stdout }) : head}\n${cells.map((row) => `${line(row)}\n`).join('')}`;
}

const MAX_CELL = 80;

function oneLine(value: string | number | undefined): string {
  const text = showInvisible(String(value ?? '')).replaceAll(/\s+/g, ' ');
  return text.length > MAX_CELL ? `${text.slice(0, MAX_CELL - 1).toWellFormed()}…` : text;
}
