import { describe } from 'node:test';
import { freshDatabase, withoutPostgres } from '../../../test/support/postgres.ts';
import { openStore } from '../open.ts';
import { storeContract } from '../store.contract.ts';

describe('PostgreSQL', { skip: withoutPostgres }, () => {
  storeContract('PostgreSQL', async () => {
    const url = await freshDatabase();
    return () => openStore({ url }, { mode: 'threaded' });
  });
});
