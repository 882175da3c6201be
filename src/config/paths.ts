// Where everything of one user lives. SVC_HOME moves the whole house.

import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

export interface HomePaths {
  home: string;
  config: string;
  env: string;
  subscriptions: string;
  database: string;
  skills: string;
  scripts: string;
  logs: string;
  gatewayLog: string;
  deliveries: string;
  browser: string;
  /** One folder per task of the agent. */
  work: string;
  chatHistory: string;
  /** Held open by the running gateway; the operating system lets go of it when the process ends, however it ends. */
  gatewayLock: string;
  /** What the running gateway says of itself: pid, address, start time. Worthless without the lock. */
  gatewayState: string;
}

/** The home folder named by the environment, else `~/.svc`. */
export function resolveHome(env: NodeJS.ProcessEnv): string {
  const named = env.SVC_HOME;
  if (named === undefined || named === '') return join(env.HOME || homedir(), '.svc');
  // Quoted in a unit file or a .env, the shell never expands the tilde.
  return resolve(named.startsWith('~/') ? join(env.HOME || homedir(), named.slice(2)) : named);
}

export function homePaths(home: string): HomePaths {
  const logs = join(home, 'logs');
  return {
    home,
    config: join(home, 'config.yaml'),
    env: join(home, '.env'),
    subscriptions: join(home, 'webhook_subscriptions.json'),
    database: join(home, 'svc.db'),
    skills: join(home, 'skills'),
    scripts: join(home, 'scripts'),
    logs,
    gatewayLog: join(logs, 'gateway.log'),
    deliveries: join(home, 'deliveries'),
    browser: join(home, 'browser'),
    work: join(home, 'work'),
    chatHistory: join(home, 'chat_history'),
    gatewayLock: join(home, 'gateway.lock'),
    gatewayState: join(home, 'gateway.json'),
  };
}
