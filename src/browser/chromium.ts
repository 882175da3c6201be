// Starts a Chromium of our own: found on the machine, with a fresh profile, in a process group that ends with the task,
// and also when this process is killed without a chance to clean up.

import { spawn } from 'node:child_process';
import { access, constants, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { messageOf, SvcError } from '../core/errors.ts';
import type { Endpoint } from './supervisor.ts';

export interface ChromiumOptions {
  executable: string;
  /** Holds the profile; emptied before the start and removed at the end. */
  folder: string;
  headless: boolean;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
}

const NAMES = [
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
  'chrome',
  'brave-browser',
  'microsoft-edge',
];
const MAC_PATHS = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];
const QUIET_FLAGS = [
  '--disable-gpu',
  '--no-first-run',
  '--no-default-browser-check',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
// What a browser needs to find its display, fonts and language. Everything else may be a secret and stays here.
const ENVIRONMENT = /^(PATH|LANG|LC_\w+|TZ|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|XDG_RUNTIME_DIR|FONTCONFIG_\w+)$/;
const START_MS = 30_000;
const OWNER_FILE = 'owner.pid';

// The group leader waits for the end of its input, which the kernel closes when this process ends in any way, and then
// ends the whole group; so does the end of the browser itself. The browser must not hold that input open.
const WATCHER = `exec 3<&0
{ cat <&3 >/dev/null; kill -9 -$$; } 2>/dev/null &
"$@" </dev/null 3<&-
kill -9 -$$ 2>/dev/null`;

/** The first browser found on the search path, or undefined. */
export async function findChromium(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const candidates = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  for (const path of process.platform === 'darwin' ? [...candidates, ...MAC_PATHS] : candidates) {
    if (await isExecutable(path)) return path;
  }
  return undefined;
}

/** Resolves when the browser listens. Rejects with `browser_gone` and the reason it gave. */
export async function startChromium(options: ChromiumOptions): Promise<Endpoint> {
  const profile = join(options.folder, 'profile');
  await rm(options.folder, { recursive: true, force: true });
  await mkdir(profile, { recursive: true, mode: 0o700 });
  await writeFile(join(options.folder, OWNER_FILE), String(process.pid), { mode: 0o600 });
  const flags = [
    ...(options.headless ? ['--headless'] : []),
    ...QUIET_FLAGS,
    // Chromium refuses its sandbox to root; for everybody else it stays on.
    ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    `--user-data-dir=${profile}`,
    '--remote-debugging-port=0',
    ...options.args,
    'about:blank',
  ];
  const child = spawn('/bin/sh', ['-c', WATCHER, 'svc-browser', options.executable, ...flags], {
    detached: true,
    env: { ...cleanEnvironment(options.env), HOME: profile },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  child.stdin.on('error', () => {});
  const ended = new Promise<string>((resolve) => {
    child.once('exit', () => resolve('The browser ended.'));
    child.once('error', (error) => resolve(`The browser could not be started: ${messageOf(error)}`));
  });
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= endGroup(child.pid, ended).then(() =>
      rm(options.folder, { recursive: true, force: true, maxRetries: 5 }),
    );
    return closing;
  };
  try {
    const url = await listening(child.stderr, ended);
    return { address: () => Promise.resolve(url), ended, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Removes the folders of browsers whose owner was killed. */
export async function sweepFolders(root: string): Promise<void> {
  const names = await readdir(root).catch(() => []);
  for (const name of names) {
    const owner = Number(await readFile(join(root, name, OWNER_FILE), 'utf8').catch(() => ''));
    if (owner > 0 && !isAlive(owner)) await rm(join(root, name), { recursive: true, force: true }).catch(() => {});
  }
}

function listening(stderr: NodeJS.ReadableStream, ended: Promise<string>): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (reason: string) => {
      clearTimeout(timer);
      const last = output.trim().split('\n').slice(-3).join(' ').slice(-400);
      const help = 'Run `svc browser doctor`, or set browser.executable to a Chromium that starts.';
      reject(new SvcError('browser_gone', `${reason}${last === '' ? '' : ` It said: ${last}`}`, { help }));
    };
    const timer = setTimeout(() => fail(`The browser did not listen within ${START_MS / 1000} s.`), START_MS);
    ended.then(fail);
    stderr.on('error', () => {});
    stderr.on('data', (chunk) => {
      // Once it listens, the rest of its chatter is read and dropped, or the pipe would fill up.
      if (output.length > 65_536) output = output.slice(-4096);
      output += chunk;
      const url = /DevTools listening on (ws:\/\/\S+)/.exec(output)?.[1];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    });
  });
}

async function endGroup(leader: number | undefined, ended: Promise<string>): Promise<void> {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // The group is gone already.
  }
  await ended;
}

function cleanEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => ENVIRONMENT.test(name)));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
