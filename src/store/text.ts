// Text as both databases can hold it: PostgreSQL has no NUL character, and SQLite would cut searches at it.

import type { SqlValue } from './operation.ts';

/** NUL becomes the visible sign U+2400; everything else stays as it is. */
export const storable = (value: SqlValue): SqlValue =>
  typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\u2400') : value;
