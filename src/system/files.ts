// Files of the home folder: whole or not at all, readable by their owner only, and cheap to ask again.

import {
  closeSync,
  fsyncSync,
  openSync,
  // Not node:fs/promises: the bundle then loads it at the first use, and quick commands never do.
  promises,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { messageOf, SvcError } from '../core/errors.ts';

const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

/**
 * Replaces the file in one step: a reader sees the old text or the new one, also after a power failure.
 * Synchronous because it is short and callers must not interleave. Throws what the file system says.
 */
export function writeFileAtomic(path: string, text: string): void {
  // Unique without node:crypto, which costs quick commands five milliseconds.
  const temporary = `${path}.${process.pid}.${process.hrtime.bigint().toString(36)}.tmp`;
  try {
    const file = openSync(temporary, 'wx', FILE_MODE);
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncDirectory(dirname(path));
}

/** Creates the folder for its owner only, or takes away what others may do in it. */
export async function ensurePrivateDirectory(path: string): Promise<void> {
  await makeFolder(path);
  await restrict(path, DIRECTORY_MODE);
}

/** Not `recursive`: that never ends where a file system denies a folder as if its parent were missing (/proc). */
async function makeFolder(path: string): Promise<void> {
  const make = () => promises.mkdir(path, { mode: DIRECTORY_MODE });
  try {
    await make();
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && (await promises.stat(path)).isDirectory()) return;
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await make().catch((second: unknown) => {
      // Another process was quicker.
      if (codeOf(second) !== 'EEXIST') throw second;
    });
  }
}

/** Throws SvcError `home_unusable` when there is something in the place of the home folder that cannot be one. */
export function checkHome(path: string): void {
  try {
    // Of a file this says that it is no folder.
    statSync(`${path}/.`);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw homeProblem(path, error);
  }
}

/** Takes away what others may do with a file, if there is one. */
export async function makePrivate(path: string): Promise<void> {
  try {
    await restrict(path, FILE_MODE);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

async function restrict(path: string, allowed: number): Promise<void> {
  const { mode, uid } = await promises.stat(path);
  const open = (mode & 0o077) !== 0;
  // A sticky folder (/tmp) is shared on purpose, and what belongs to a stranger is not ours to close.
  const shared = (mode & 0o1000) !== 0 || (process.getuid !== undefined && uid !== process.getuid());
  if (open && !shared) await promises.chmod(path, allowed);
}

/** The text of a file, or undefined when there is none. */
export async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await promises.readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/**
 * A file as a value that follows it. Each call costs one stat; the file is read and parsed again only when its
 * modification time, size or identity changed. `parse` gets undefined when there is no file. Throws what `parse` throws,
 * every time until the file changes again.
 */
export function followFile<T>(path: string, parse: (text: string | undefined) => T): () => T {
  let known: { mark: string; value: () => T } | undefined;
  return () => {
    const mark = markOf(path);
    if (known?.mark !== mark)
      known = { mark, value: outcome(() => parse(mark === '' ? undefined : readIfExistsSync(path))) };
    return known.value();
  };
}

/** Turns a failed file operation in the home folder into the one message that says what to do. */
export function homeProblem(path: string, error: unknown): SvcError {
  return new SvcError('home_unusable', `Cannot use ${path}: ${messageOf(error)}`, {
    help: 'Make the folder readable and writable for this user, or set SVC_HOME to one that is.',
    cause: error,
  });
}

export const isMissing = (error: unknown): boolean => codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);

function markOf(path: string): string {
  const info = statSync(path, { bigint: true, throwIfNoEntry: false });
  return info === undefined ? '' : `${info.ino}:${info.mtimeNs}:${info.ctimeNs}:${info.size}`;
}

/** The same at once, for short files on the way to a quick answer. */
export function readIfExistsSync(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function outcome<T>(make: () => T): () => T {
  try {
    const value = make();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

function syncDirectory(path: string): void {
  // Windows cannot open a folder; its file system orders the rename by itself.
  if (process.platform === 'win32') return;
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
