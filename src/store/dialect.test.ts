import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import pg from 'pg';
import { freshDatabase, withoutPostgres } from '../../test/support/postgres.ts';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { openStore } from './open.ts';

// Statements that are written out whole. Those put together from pieces are left to the tests of their operations.
const LITERAL = /\bsql\(\s*(?:\/\/[^\n]*\s*)*(`(?:[^`$\\]|\$(?!\{))*`|'[^'\\\n]*'|"[^"\\\n]*")/g;

const statements = globSync('*.ts', { cwd: import.meta.dirname })
  .filter((file) => !/\.(?:test|contract)\.ts$/.test(file) && file !== 'migrate.ts')
  .flatMap((file) => {
    const source = readFileSync(join(import.meta.dirname, file), 'utf8');
    return [...source.matchAll(LITERAL)].map(([, literal = '']) => ({ file, text: literal.slice(1, -1) }));
  });

test('the statements of the operations are found', () => {
  assert.ok(statements.length >= 40, `only ${statements.length}`);
});

test('every statement is understood by SQLite', async () => {
  const file = join(tempFolder(), 'svc.db');
  await (await openStore({ file }, { mode: 'inline' })).close();
  const database = new DatabaseSync(file);
  const problems = statements.flatMap(({ file: from, text }) => {
    try {
      database.prepare(text.replace(/\$(\d+)/g, '?$1'));
      return [];
    } catch (error) {
      return `${from}: ${error}\n${text}`;
    }
  });
  database.close();
  assert.deepEqual(problems, []);
});

test('every statement is understood by PostgreSQL', { skip: withoutPostgres }, async () => {
  const url = await freshDatabase();
  await (await openStore({ url }, { mode: 'inline' })).close();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const problems: string[] = [];
  for (const [index, { file, text }] of statements.entries()) {
    await client.query(`PREPARE s${index} AS ${text}`).catch((error) => problems.push(`${file}: ${error}\n${text}`));
  }
  await client.end();
  assert.deepEqual(problems, []);
});
