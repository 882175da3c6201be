import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { openStore } from '../open.ts';
import { type OpenAgain, storeContract } from '../store.contract.ts';

const folders: string[] = [];
after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

for (const mode of ['threaded', 'inline'] as const) {
  storeContract(`SQLite, ${mode},`, async (): Promise<OpenAgain> => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-store-'));
    folders.push(folder);
    return () => openStore({ file: join(folder, 'svc.db') }, { mode });
  });
}
