// A private PostgreSQL server for tests: own folder, unix socket only, started once per test process and gone with it.

import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const INSTALLED = '/usr/lib/postgresql';

/** The reason to skip a test that needs PostgreSQL, or false. With SVC_E2E=required nothing is skipped: it fails. */
export const withoutPostgres: string | false =
  binariesFolder() === undefined && process.env.SVC_E2E !== 'required'
    ? 'PostgreSQL is not installed (apt-get install postgresql)'
    : false;

interface Server {
  /** The folder of its socket. */
  socket: string;
  databases: number;
  control(...args: string[]): void;
}

let server: Promise<Server> | undefined;

/** The URL of a new, empty database. Starts the server when it is the first one. */
export async function freshDatabase(): Promise<string> {
  server ??= startServer();
  const running = await server;
  running.databases += 1;
  const name = `test_${running.databases}`;
  await promisify(execFile)(program('createdb'), ['-h', running.socket, '-U', 'svc', name]);
  return `postgres:///${name}?host=${encodeURIComponent(running.socket)}&user=svc`;
}

/** The server dies without a word, as in a power cut, and comes back. */
export async function crashAndRestart(): Promise<void> {
  const { control } = await (server ?? startServer());
  control('-m', 'immediate', 'restart');
}

async function startServer(): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pg-'));
  // The server refuses to run as root, so then it runs as the system's nobody.
  const user = process.getuid?.() === 0 ? nobody() : undefined;
  if (user) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const options = { cwd: folder, ...user };
  const settings = `-c listen_addresses= -c unix_socket_directories=${folder} -c shared_buffers=32MB -c max_connections=90`;
  const control = (...args: string[]): void => {
    // Its output goes to a file: a pipe would keep this process waiting for the server's end.
    const all = ['-D', data, '-l', join(folder, 'log'), '-w', '-t', '60', '-o', settings, ...args];
    const { status } = spawnSync(program('pg_ctl'), all, { ...options, stdio: 'ignore' });
    if (status !== 0)
      throw new Error(`PostgreSQL did not ${args.at(-1)}: ${readFileSync(join(folder, 'log'), 'utf8')}`);
  };
  process.once('exit', () => {
    spawnSync(program('pg_ctl'), ['-D', data, '-m', 'immediate', '-w', 'stop'], { ...options, stdio: 'ignore' });
    rmSync(folder, { recursive: true, force: true });
  });
  const initdb = ['-D', data, '-U', 'svc', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  await promisify(execFile)(program('initdb'), initdb, options);
  control('start');
  return { socket: folder, databases: 0, control };
}

function program(name: string): string {
  const folder = binariesFolder();
  if (folder === undefined) throw new Error('PostgreSQL is not installed; run: apt-get install postgresql');
  return join(folder, name);
}

/** Debian keeps the server's programs out of the PATH. The newest installed version is used. */
function binariesFolder(): string | undefined {
  const versions = existsSync(INSTALLED) ? readdirSync(INSTALLED) : [];
  const newestFirst = versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(INSTALLED, version, 'bin'));
  const inPath = (process.env.PATH ?? '').split(':');
  return [...newestFirst, ...inPath].find((folder) => existsSync(join(folder, 'initdb')));
}

function nobody(): { uid: number; gid: number } {
  const idOf = (flag: string): number => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}
