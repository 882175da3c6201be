// A shell command in a bubblewrap sandbox: own process, network, user and ipc namespaces, a read-only system, no home,
// no secrets, and one folder to write in. It refuses to run anything when the sandbox does not work.

import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type ProcessOutcome, runProcess } from './process.ts';

const PATH_INSIDE = '/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin';
const TMP_BYTES = 256 * 1024 * 1024;
const SHM_BYTES = 16 * 1024 * 1024;
const ID_INSIDE = '1000';
const PROBE_MS = 10_000;
const NO_FOLDER = '/';
// No core files, 4 GiB of data per process, 2048 processes (the last one binds everyone but root).
const LIMITS = 'ulimit -c 0; ulimit -d 4194304; ulimit -u 2048';

export interface ShellOptions {
  /** For a shell: bash where there is one. */
  command: string;
  /** The working folder; in the sandbox the only place that can be written and outlives the command. */
  folder: string;
  timeoutMs: number;
  maxOutputBytes: number;
  signal: AbortSignal;
}

export interface Sandbox {
  /** Why commands cannot be run, or undefined when they can. Found out once, by really starting one. */
  problem(): Promise<string | undefined>;
  /** Never throws; `not_started` when the sandbox does not work. */
  run(options: ShellOptions & { network: boolean }): Promise<ProcessOutcome>;
}

/** `path` is where bubblewrap is looked for, in the form of the PATH variable. */
export function createSandbox(path: string | undefined): Sandbox {
  let probed: Promise<string | undefined> | undefined;
  const program = (path ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, 'bwrap'))
    .find((file) => existsSync(file));

  const problem = () => {
    probed ??= probe(program);
    return probed;
  };
  return {
    problem,
    async run(options) {
      const reason = await problem();
      if (reason !== undefined || program === undefined) return { kind: 'not_started', reason: reason ?? 'no sandbox' };
      return runProcess(inSandbox(program, options));
    },
  };
}

/** The same command without a sandbox, as the user of this process, with a clean environment all the same. */
export function runUnconfined(options: ShellOptions, environment: NodeJS.ProcessEnv): Promise<ProcessOutcome> {
  const env: Record<string, string> = {};
  for (const name of ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'SVC_HOME']) {
    const value = environment[name];
    if (value !== undefined) env[name] = value;
  }
  return runProcess({
    command: shell(),
    args: ['-c', options.command],
    cwd: options.folder,
    env: { ...env, TERM: 'dumb' },
    timeoutMs: options.timeoutMs,
    maxOutputBytes: options.maxOutputBytes,
    mergeStderr: true,
    signal: options.signal,
  });
}

async function probe(program: string | undefined): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'The sandbox needs Linux with bubblewrap.';
  if (program === undefined) return 'bubblewrap (bwrap) is not installed.';
  const outcome = await runProcess(
    inSandbox(program, {
      command: 'true',
      folder: NO_FOLDER,
      timeoutMs: PROBE_MS,
      maxOutputBytes: 2000,
      signal: new AbortController().signal,
      network: false,
    }),
  );
  if (outcome.kind === 'exited' && outcome.code === 0) return undefined;
  if (outcome.kind === 'not_started') return `bubblewrap does not start: ${outcome.reason}`;
  const said = outcome.stdout.trim().replace(/\s+/g, ' ');
  return `bubblewrap does not work here (0.8 or newer is needed, and user namespaces): ${said || outcome.kind}`;
}

function inSandbox(program: string, options: ShellOptions & { network: boolean }) {
  return {
    command: program,
    args: [...sandboxArguments(options), '--', ...limited(options.command)],
    cwd: '/',
    // Not only --clearenv: the first process inside is bubblewrap itself, and /proc/1/environ shows what it was given.
    env: {},
    timeoutMs: options.timeoutMs,
    maxOutputBytes: options.maxOutputBytes,
    mergeStderr: true,
    files: [`sandbox:x:${ID_INSIDE}:${ID_INSIDE}::${options.folder}:/bin/sh\n`, `sandbox:x:${ID_INSIDE}:\n`],
    signal: options.signal,
  };
}

function sandboxArguments({ folder, network }: { folder: string; network: boolean }): string[] {
  const environment = {
    PATH: PATH_INSIDE,
    HOME: folder,
    USER: 'sandbox',
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    TMPDIR: '/tmp',
  };
  return [
    ...['--unshare-user', '--unshare-all', '--disable-userns', '--die-with-parent', '--new-session'],
    ...(network ? ['--share-net'] : []),
    ...['--uid', ID_INSIDE, '--gid', ID_INSIDE, '--hostname', 'sandbox', '--cap-drop', 'ALL', '--clearenv'],
    ...Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--ro-bind', '/usr', '/usr', '--ro-bind-try', '/nix/store', '/nix/store'],
    ...['/bin', '/sbin', '/lib', '/lib32', '/lib64'].flatMap(systemFolder),
    ...['--file', '3', '/etc/passwd', '--file', '4', '/etc/group'],
    ...['/etc/alternatives', '/etc/ld.so.cache', '/etc/localtime', ...(network ? NETWORK_FILES : [])].flatMap(
      (file) => ['--ro-bind-try', file, file],
    ),
    ...['--proc', '/proc'],
    // When this process is root, the sandbox's user is root for the files of /proc/sys, and they reach the whole machine.
    ...['--ro-bind', '/proc/sys', '/proc/sys', '--ro-bind-try', '/proc/sysrq-trigger', '/proc/sysrq-trigger'],
    ...['--dev', '/dev', '--size', String(SHM_BYTES), '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    ...['--size', String(TMP_BYTES), '--tmpfs', '/tmp'],
    ...(folder === NO_FOLDER ? [] : ['--bind', folder, folder]),
    ...['--remount-ro', '/', '--chdir', folder],
  ];
}

const NETWORK_FILES = ['/etc/resolv.conf', '/etc/hosts', '/etc/ssl/certs', '/etc/ca-certificates'];

// Merged into /usr on most systems: a link there stays a link here.
function systemFolder(path: string): string[] {
  const info = lstatSync(path, { throwIfNoEntry: false });
  if (!info) return [];
  return info.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}

/** A shell that lowers its limits and then becomes the one that runs the command. A limit it cannot set it leaves. */
function limited(command: string): string[] {
  const program = shell();
  return [program, '-c', `{ ${LIMITS}; } 2>/dev/null; exec "$0" -c "$1"`, program, command];
}

const shell = (): string => (existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh');
