// Starts and stops the gateway process of a home from another process.

import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { HomePaths } from '../config/paths.ts';
import { SvcError } from '../core/errors.ts';
import type { GatewayState } from '../gateway.ts';
import { ensurePrivateDirectory, homeProblem } from '../system/files.ts';
import { isInstanceLocked } from '../system/instance-lock.ts';
import { findGateway, readState } from './find-gateway.ts';

const POLL_MS = 50;
const START_DEADLINE_MS = 30_000;
const STOP_DEADLINE_MS = 15_000;

/** Starts a gateway in the background and waits until it answers. */
export async function startInBackground(paths: HomePaths, env: NodeJS.ProcessEnv): Promise<GatewayState> {
  try {
    await ensurePrivateDirectory(paths.home);
    await ensurePrivateDirectory(paths.logs);
  } catch (error) {
    throw homeProblem(paths.home, error);
  }
  const output = `${paths.gatewayLog}.start`;
  const file = openSync(output, 'w', 0o600);
  const [launcher = ''] = process.argv.slice(1);
  const child = spawn(process.execPath, [launcher, 'gateway', 'run', '--quiet'], {
    detached: true,
    stdio: ['ignore', file, file],
    env: { ...env, SVC_HOME: paths.home },
    // A folder that may be unmounted or removed must not be held for as long as the gateway runs.
    cwd: paths.home,
  });
  closeSync(file);
  let ended = false;
  child.once('exit', () => {
    ended = true;
  });
  child.unref();
  const deadline = performance.now() + START_DEADLINE_MS;
  while (!ended && performance.now() < deadline) {
    const state = readState(paths);
    if (state !== undefined && state.pid === child.pid && (await answers(state.url))) {
      rmSync(output, { force: true });
      return state;
    }
    await delay(POLL_MS);
  }
  const said = readFileSync(output, 'utf8').trim();
  rmSync(output, { force: true });
  if (!ended && child.pid !== undefined) process.kill(child.pid, 'SIGKILL');
  throw new SvcError('gateway_not_running', `The gateway did not start.\n${said.replace(/^svc: /, '')}`.trim(), {
    help: `\`svc gateway run\` shows what happens; the log is ${paths.gatewayLog}.`,
  });
}

/** Stops the gateway and waits until it is gone. False when none was running. */
export async function stopGateway(paths: HomePaths): Promise<boolean> {
  const state = findGateway(paths);
  if (state === undefined) return false;
  try {
    process.kill(state.pid, 'SIGTERM');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
  const deadline = performance.now() + STOP_DEADLINE_MS;
  while (isInstanceLocked(paths.gatewayLock)) {
    if (performance.now() > deadline) {
      throw new SvcError(
        'timeout',
        `The gateway (pid ${state.pid}) did not stop within ${STOP_DEADLINE_MS / 1000} s.`,
        {
          help: `Look into ${paths.gatewayLog}; \`kill -9 ${state.pid}\` ends it at once and loses no accepted event.`,
        },
      );
    }
    await delay(POLL_MS);
  }
  return true;
}

async function answers(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/health`, { signal: AbortSignal.timeout(2000) });
    return answer.ok;
  } catch {
    return false;
  }
}
