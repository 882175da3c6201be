import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe } from 'node:test';
import { freshDatabase, withoutPostgres } from '../../test/support/postgres.ts';
import { openStore } from '../store/open.ts';
import { firingContract } from './firing.contract.ts';

const folders: string[] = [];
after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

firingContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-jobs-'));
  folders.push(folder);
  return () => openStore({ file: join(folder, 'svc.db') }, { mode: 'inline' });
});

describe('PostgreSQL', { skip: withoutPostgres }, () => {
  firingContract('PostgreSQL', async () => {
    const url = await freshDatabase();
    return () => openStore({ url }, { mode: 'inline' });
  });
});
