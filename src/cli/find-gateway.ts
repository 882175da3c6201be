// Finds the running gateway of a home. Light: listing commands ask it for the address they print.

import { readFileSync } from 'node:fs';
import type { HomePaths } from '../config/paths.ts';
import type { GatewayState } from '../gateway.ts';
import { homeProblem, isMissing } from '../system/files.ts';
import { isInstanceLocked } from '../system/instance-lock.ts';

/** The running gateway, or undefined. The lock decides; the file only adds what the lock cannot say. */
export function findGateway(paths: HomePaths): GatewayState | undefined {
  const state = readState(paths);
  return state !== undefined && isInstanceLocked(paths.gatewayLock) ? state : undefined;
}

/** What a gateway wrote when it was ready; it may have ended since. */
export function readState(paths: HomePaths): GatewayState | undefined {
  try {
    return JSON.parse(readFileSync(paths.gatewayState, 'utf8')) as GatewayState;
  } catch (error) {
    if (isMissing(error) || error instanceof SyntaxError) return undefined;
    throw homeProblem(paths.gatewayState, error);
  }
}
