// What SQLite's result codes mean for a caller of the store.

import { SvcError } from '../../core/errors.ts';

const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const CONSTRAINT = 19;
const NOTADB = 26;

/** The primary result code, or undefined when the error does not come from SQLite. */
function codeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return error.errcode & 0xff;
}

/**
 * After a failed sync or write the kernel may have dropped the pages that SQLite still believes in, and a damaged file
 * only gets worse: nothing may be promised any more.
 */
export function endsStore(error: unknown): boolean {
  const code = codeOf(error);
  return code === IOERR || code === CORRUPT || code === NOTADB;
}

export const isBusy = (error: unknown): boolean => codeOf(error) === BUSY;

/** The error as the store's callers see it. SvcErrors of operations pass unchanged. */
export function asStoreError(error: unknown, file: string): SvcError {
  if (error instanceof SvcError) return error;
  const code = codeOf(error);
  const detail = error instanceof Error ? error.message : String(error);
  switch (code) {
    case BUSY:
    case LOCKED:
      return new SvcError('store_busy', `${file} was kept locked by another process for too long.`, {
        help: 'Try again; if it stays so, look for a process that holds the database open.',
        cause: error,
      });
    case FULL:
      return unavailable(`There is no space left for ${file}.`, 'Free some disk space; nothing else is needed.', error);
    case READONLY:
    case CANTOPEN:
      return unavailable(
        `${file} cannot be written: ${detail}.`,
        'Check the owner and permissions of the file and its folder, and that the disk is not mounted read-only.',
        error,
      );
    case CORRUPT:
    case NOTADB:
      return unavailable(
        `${file} is damaged or not a database: ${detail}.`,
        'Restore it from a backup, or move it (and its -wal and -shm files) away to start with an empty one.',
        error,
      );
    case IOERR:
      return unavailable(
        `The disk failed while ${file} was used: ${detail}.`,
        'Check the disk and the system log, then start svc again; nothing is stored until then.',
        error,
      );
    case CONSTRAINT:
      return new SvcError('conflict', `The database refused a row: ${detail}.`, { cause: error });
    default:
      return unavailable(`Storing failed: ${detail}.`, 'This is a mistake in svc; please report it.', error);
  }
}

const unavailable = (message: string, help: string, cause: unknown): SvcError =>
  new SvcError('store_unavailable', message, { help, cause });
