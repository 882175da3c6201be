// Writes the text to <home>/deliveries/<job or route>/<time>.md. A file that exists is never touched.

import { randomUUID } from 'node:crypto';
import { link, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf } from '../../core/errors.ts';
import { ensurePrivateDirectory } from '../../system/files.ts';
import { defineTarget, noKeys } from '../target.ts';

const MOST_IN_ONE_MILLISECOND = 1000;

export const local = defineTarget({
  name: 'local',
  title: 'Local file',
  builtIn: true,
  settings: noKeys,
  extra: noKeys,
  env: {},
  limit: { count: Number.MAX_SAFE_INTEGER, unit: 'utf16' },
  markup: 'gfm',
  takesEmptyText: true,
  async send(part, { deliveriesFolder, now }) {
    const folder = join(deliveriesFolder, safeName(part.source));
    const time = new Date(now()).toISOString().replaceAll(':', '-');
    try {
      await ensurePrivateDirectory(deliveriesFolder);
      await ensurePrivateDirectory(folder);
      return { kind: 'sent', receipt: await writeNew(join(folder, time), part.text) };
    } catch (error) {
      return { kind: 'failed', reason: `cannot write the file: ${messageOf(error)}` };
    }
  },
});

/** The file gets its name when it is whole: whoever watches the folder never reads half a message. */
async function writeNew(path: string, text: string): Promise<string> {
  const draft = join(dirname(path), `.${randomUUID()}`);
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(text.endsWith('\n') ? text : `${text}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    return await nameNew(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

async function nameNew(draft: string, path: string): Promise<string> {
  for (let number = 1; number <= MOST_IN_ONE_MILLISECOND; number += 1) {
    const name = number === 1 ? `${path}.md` : `${path}-${number}.md`;
    try {
      await link(draft, name);
      return name;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
  }
  throw new Error('too many files of the same millisecond');
}

/** A job may be called anything; its folder may not. */
const safeName = (source: string): string =>
  source
    .replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 80) || 'unnamed';
