// Which files the file tools may touch: those inside the task's work folder and the configured roots, after all links
// are resolved. A path that leads elsewhere is refused, whatever it looks like.

import { lstat, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { ToolContext, ToolResult } from '../agent/tool.ts';
import { messageOf } from '../core/errors.ts';
import type { WorkFolders } from './work-folders.ts';

export interface FileAccess {
  folders: WorkFolders;
  /** Further folders, as configured (`files.roots`). */
  roots: readonly string[];
}

export type AllowedPath =
  /** `path` is real: no part of it is a link. `shown` is how the model should see it. */
  { kind: 'allowed'; path: string; shown: string; exists: boolean } | { kind: 'refused'; reason: string };

/** Relative paths start in the work folder of the task. */
export async function allowPath(access: FileAccess, context: ToolContext, asked: string): Promise<AllowedPath> {
  if (asked.includes('\0')) return { kind: 'refused', reason: 'The path holds a NUL character.' };
  const folder = await access.folders.of(context.taskId);
  const wanted = isAbsolute(asked) ? resolve(asked) : resolve(folder, asked);
  const found = await realPathOf(wanted);
  if (found.kind === 'broken') return { kind: 'refused', reason: `${asked}: ${found.reason}` };
  const roots = [folder, ...(await Promise.all(access.roots.map(realRoot)))];
  if (!roots.some((root) => isInside(found.path, root))) {
    const others = access.roots.length === 0 ? '' : ` or below ${access.roots.join(', ')}`;
    const reason = `${asked} is outside of what the file tools may use. Use a path in the work folder${others}.`;
    return { kind: 'refused', reason };
  }
  const shown = isInside(found.path, folder) ? relative(folder, found.path) || '.' : found.path;
  return { kind: 'allowed', path: found.path, shown, exists: found.exists };
}

/** What a file tool answers when the file system says no. */
export const fileFailure = (path: string, error: unknown): ToolResult => ({
  output: `${path}: ${messageOf(error).split(',')[0] ?? ''}`,
  failed: true,
});

export const isInside = (path: string, root: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);

type RealPath = { kind: 'real'; path: string; exists: boolean } | { kind: 'broken'; reason: string };

/** Resolves links in what exists of the path; the rest is taken as written. */
async function realPathOf(path: string): Promise<RealPath> {
  try {
    return { kind: 'real', path: await realpath(path), exists: true };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'ENOENT') return { kind: 'broken', reason: messageOf(error).split(',')[0] ?? 'cannot be resolved' };
  }
  // Writing to a link that leads nowhere would create its target.
  if (await isLink(path)) return { kind: 'broken', reason: 'it is a link that leads nowhere' };
  const parent = dirname(path);
  if (parent === path) return { kind: 'real', path, exists: false };
  const above = await realPathOf(parent);
  return above.kind === 'broken' ? above : { kind: 'real', path: join(above.path, basename(path)), exists: false };
}

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch {
    return false;
  }
}

async function realRoot(root: string): Promise<string> {
  const path = resolve(root.startsWith('~/') ? join(homedir(), root.slice(2)) : root);
  const real = await realPathOf(path);
  return real.kind === 'real' ? real.path : path;
}
