// What PostgreSQL's and the socket's errors mean for a caller of the store.

import { SvcError } from '../../core/errors.ts';

const SERIALIZATION_FAILURE = '40001';
const DEADLOCK = '40P01';
const TOO_MANY_CONNECTIONS = '53300';

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** The transaction was rolled back only because of its neighbours: the same again may work. */
export const isCollision = (error: unknown): boolean => [SERIALIZATION_FAILURE, DEADLOCK].includes(codeOf(error));

/** The error as the store's callers see it. SvcErrors of operations pass unchanged. */
export function asStoreError(error: unknown, where: string): SvcError {
  if (error instanceof SvcError) return error;
  const code = codeOf(error);
  const detail = error instanceof Error ? error.message || code : String(error);
  if (code.startsWith('23')) {
    return new SvcError('conflict', `The database refused a row: ${detail}.`, { cause: error });
  }
  if (isCollision(error) || code === TOO_MANY_CONNECTIONS) {
    return new SvcError('store_busy', `The database at ${where} is too busy: ${detail}.`, {
      help: 'Try again in a moment.',
      cause: error,
    });
  }
  return new SvcError('store_unavailable', `The database at ${where} could not do it: ${detail}.`, {
    help: 'Check that PostgreSQL runs, that database.url is right and that its user may create and write tables.',
    cause: error,
  });
}

/** Names the server for people: never the password, nor the options of the URL. */
export function whereOf(url: string): string {
  try {
    const { host, hostname, pathname, searchParams } = new URL(url);
    return `${host || searchParams.get('host') || hostname || 'localhost'}${pathname}`;
  } catch {
    return 'the address in database.url';
  }
}
