import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import pg from 'pg';
import { newRun } from '../../../test/support/new-run.ts';
import { crashAndRestart, freshDatabase, withoutPostgres } from '../../../test/support/postgres.ts';
import type { SvcError } from '../../core/errors.ts';
import { newId } from '../../system/clock.ts';
import { openStore } from '../open.ts';
import { enqueueRun, getRun } from '../runs.ts';
import { storeContract } from '../store.contract.ts';

describe('PostgreSQL', { skip: withoutPostgres }, () => {
  storeContract('PostgreSQL', async () => {
    const url = await freshDatabase();
    return () => openStore({ url }, { mode: 'threaded' });
  });

  async function query(url: string, text: string): Promise<void> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(text);
    await client.end();
  }

  test('a database of a newer version is refused', async () => {
    const url = await freshDatabase();
    await (await openStore({ url }, { mode: 'inline' })).close();
    await query(url, "INSERT INTO svc_migrations VALUES (9999, 'from-the-future')");
    await assert.rejects(openStore({ url }, { mode: 'inline' }), { code: 'store_newer' });
  });

  test('connections that broke while idle are replaced', async () => {
    const url = await freshDatabase();
    const store = await openStore({ url }, { mode: 'inline' });
    await Promise.all(Array.from({ length: 20 }, () => store.write(enqueueRun(newRun()))));
    await query(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'svc'");
    await Promise.all(Array.from({ length: 20 }, () => store.write(enqueueRun(newRun()))));
    await store.close();
  });

  test('what was acknowledged survives a crash of the server, and the store works again after it', async () => {
    const url = await freshDatabase();
    const store = await openStore({ url }, { mode: 'inline' });
    const acknowledged: string[] = [];
    const refusals: SvcError[] = [];
    let crashed = false;
    const writer = async (): Promise<void> => {
      while (!crashed) {
        const run = newRun({ id: newId('run') });
        await store.write(enqueueRun(run)).then(
          () => acknowledged.push(run.id),
          (error: SvcError) => refusals.push(error),
        );
      }
    };
    const writers = Promise.all(Array.from({ length: 32 }, writer));
    while (acknowledged.length < 200) await new Promise((resolve) => setTimeout(resolve, 5));
    await crashAndRestart();
    crashed = true;
    await writers;
    for (const { code } of refusals) assert.equal(code, 'store_unavailable');
    const found = await Promise.all(acknowledged.map((id) => store.read(getRun({ id }))));
    assert.equal(found.filter((run) => run === undefined).length, 0);
    await store.close();
  });

  test('a server that asks for relaxed commits is overruled', async () => {
    const url = await freshDatabase();
    await query(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off`);
    await query(
      url,
      `CREATE TABLE setting (value TEXT);
       CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN INSERT INTO setting VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$`,
    );
    const store = await openStore({ url }, { mode: 'inline' });
    await query(url, 'CREATE TRIGGER note AFTER INSERT ON runs FOR EACH ROW EXECUTE FUNCTION note()');
    await store.write(enqueueRun(newRun()));
    await store.close();
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query('SELECT value FROM setting');
    await client.end();
    assert.deepEqual(rows, [{ value: 'on' }]);
  });
});

test('a server that cannot be reached gives one message without the password', async () => {
  const url = 'postgres://user:s3cret@127.0.0.1:1/house';
  await assert.rejects(openStore({ url }, { mode: 'inline' }), (error: SvcError) => {
    assert.equal(error.code, 'store_unavailable');
    assert.match(error.message, /127\.0\.0\.1:1\/house/);
    assert.ok(!error.message.includes('s3cret'));
    assert.match(error.help ?? '', /database\.url/);
    return true;
  });
});

test('an address of another kind is a mistake in the settings', async () => {
  await assert.rejects(openStore({ url: 'mysql://x' }, { mode: 'inline' }), { code: 'config_invalid' });
});
