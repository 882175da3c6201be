// A page of a table, newest first: ids sort by time, so the last one of a page is where the next page begins.

import { type Row, type SqlValue, type Steps, sql } from './operation.ts';

export interface PageQuery {
  columns: string;
  table: string;
  /** Each condition is followed by its value, and left out when there is none: `['state =', filter.state]`. */
  where: readonly (readonly [condition: string, value: SqlValue | undefined])[];
  limit: number;
  /** The `next` of the page before. */
  cursor: string | undefined;
}

/** `next` is there when more may follow. */
export function* selectPage(query: PageQuery): Steps<{ rows: Row[]; next?: string }> {
  const values: SqlValue[] = [];
  const conditions = [...query.where, ['id <', query.cursor] as const].flatMap(([condition, value]) =>
    value === undefined ? [] : `${condition} $${values.push(value)}`,
  );
  const { rows } = yield* sql(
    `SELECT ${query.columns} FROM ${query.table} ${conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''}
     ORDER BY id DESC LIMIT $${values.push(query.limit)}`,
    ...values,
  );
  const last = rows.at(-1);
  return rows.length === query.limit && last ? { rows, next: String(last.id) } : { rows };
}
