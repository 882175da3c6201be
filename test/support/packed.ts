// The program as npm gives it to users: packed, then installed into an empty folder without a network.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** Installs into `folder` and returns the path of the installed launcher. */
export function installPacked(folder: string): string {
  const npm = (args: readonly string[], cwd: string): void => {
    execFileSync('npm', [...args, '--loglevel=error', '--no-audit', '--no-fund'], {
      cwd,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  };
  mkdirSync(folder, { recursive: true });
  npm(['pack', '--pack-destination', folder], root);
  const tarball = readdirSync(folder).find((file) => file.endsWith('.tgz')) ?? '';
  writeFileSync(join(folder, 'package.json'), '{}');
  npm(['install', '--offline', join(folder, tarball)], folder);
  return join(folder, 'node_modules', '.bin', 'svc');
}
