// Task to browser. Getting one twice gives the same one; another address stops the old one first, and nothing of its state
// is used again. Everything ends with its task, and all of it with this object.

import { join } from 'node:path';
import { SvcError } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import type { Clock } from '../core/time.ts';
import { findChromium, startChromium, sweepFolders } from './chromium.ts';
import { type Backend, type BrowserConfig, chooseBackend, hostedEndpoint, runningEndpoint } from './endpoint.ts';
import { addressesOf } from './navigation.ts';
import type { SupervisorEvent } from './reduce.ts';
import { RestBrowser } from './rest.ts';
import { type Endpoint, Supervisor } from './supervisor.ts';
import { TaskBrowser } from './task-browser.ts';

export interface BrowsersOptions {
  config: BrowserConfig;
  /** Profiles and pictures lie here. */
  folder: string;
  env: NodeJS.ProcessEnv;
  clock: Pick<Clock, 'now'>;
  log: Logger;
  /** The addresses of a host name; the machine's own resolver when absent. */
  lookUp?(host: string): Promise<readonly string[]>;
  /** Sees every event of every supervisor, for recordings. */
  onEvent?(event: SupervisorEvent): void;
}

export interface BrowserTask {
  taskId: string;
  /** Tasks that hold text from outside stay away from private addresses unless the configuration says otherwise. */
  trust: 'person' | 'untrusted';
}

interface Entry {
  key: string;
  browser: Promise<TaskBrowser | RestBrowser>;
}

export class Browsers {
  readonly folder: string;
  #options: BrowsersOptions;
  #entries = new Map<string, Entry>();
  #connected = new Map<string, string>();
  #found: Promise<string | undefined> | undefined;

  constructor(options: BrowsersOptions) {
    this.#options = options;
    this.folder = options.folder;
    void sweepFolders(options.folder);
  }

  /** What the task's browser is or would be. Never starts one. */
  async backend(taskId: string): Promise<Backend> {
    const { config, env } = this.#options;
    const connected = this.#connected.get(taskId);
    const named = chooseBackend(config, connected, undefined);
    if (named.kind !== 'none') return named;
    this.#found ??= findChromium(env);
    return chooseBackend(config, connected, await this.#found);
  }

  /** Gets or starts the browser of a task. Rejects with `browser_gone` or `no_supervisor`. */
  async start(task: BrowserTask): Promise<TaskBrowser | RestBrowser> {
    const backend = await this.backend(task.taskId);
    const key = backend.kind === 'running' ? `running ${backend.address}` : backend.kind;
    for (;;) {
      const entry = this.#entries.get(task.taskId);
      if (entry === undefined) break;
      const usable = entry.key === key && (await entry.browser.then(isUsable, () => false));
      if (usable && this.#entries.get(task.taskId) === entry) return entry.browser;
      // Another address, or a browser that has ended: the old one is stopped before a new one begins.
      if (this.#entries.get(task.taskId) === entry) await this.end(task.taskId, { keepConnection: true });
    }
    const browser = this.#open(task, backend);
    this.#entries.set(task.taskId, { key, browser });
    browser.catch(() => this.#entries.delete(task.taskId));
    return browser;
  }

  /** The running browser of a task. One that runs elsewhere is reached now; our own is started by navigation only. */
  async use(task: BrowserTask): Promise<TaskBrowser | RestBrowser> {
    const entry = this.#entries.get(task.taskId);
    if (entry !== undefined) {
      const browser = await entry.browser.catch(() => undefined);
      if (browser !== undefined && isUsable(browser)) return browser;
    }
    const backend = await this.backend(task.taskId);
    if (entry !== undefined || backend.kind !== 'own') return this.start(task);
    throw new SvcError('no_supervisor', 'This task has no browser yet.', {
      help: 'Open a page with browser_navigate first.',
    });
  }

  /** The running browser of a task, or undefined. Never starts one, never waits for one that is starting. */
  running(taskId: string): Promise<TaskBrowser | RestBrowser> | undefined {
    return this.#entries.get(taskId)?.browser;
  }

  /** Attaches the task to a browser that runs already. Rejects when nothing answers there; the old one is gone then too. */
  async connect(task: BrowserTask, address: string): Promise<TaskBrowser | RestBrowser> {
    this.#connected.set(task.taskId, address);
    try {
      const browser = await this.start(task);
      if (browser.kind === 'cdp') await browser.supervisor.ready();
      return browser;
    } catch (error) {
      await this.end(task.taskId);
      throw error;
    }
  }

  /** Ends the browser of a task and forgets what it was connected to. Never throws. */
  async end(taskId: string, options: { keepConnection?: boolean } = {}): Promise<void> {
    const entry = this.#entries.get(taskId);
    this.#entries.delete(taskId);
    if (options.keepConnection !== true) this.#connected.delete(taskId);
    const browser = await entry?.browser.catch(() => undefined);
    await (browser?.kind === 'cdp' ? browser.supervisor.stop() : browser?.stop());
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#entries.keys()].map((taskId) => this.end(taskId)));
  }

  async #open(task: BrowserTask, backend: Backend): Promise<TaskBrowser | RestBrowser> {
    const { config, clock, log, onEvent, lookUp = addressesOf } = this.#options;
    const allowPrivate = config.allow_private ?? task.trust === 'person';
    const reach = { allowPrivate, trusted: task.trust === 'person', lookUp };
    if (backend.kind === 'rest') return new RestBrowser(backend.url, task.taskId, reach);
    const endpoint = await this.#endpoint(task, backend);
    const supervisor = new Supervisor({
      settings: {
        backend: backend.kind === 'hosted' ? 'hosted' : 'local',
        policy: config.dialog_policy,
        watchdogMs: config.dialog_timeout_s * 1000,
        bridge: config.dialog_bridge,
        bypassCsp: config.bypass_csp,
        guardPrivate: !allowPrivate,
      },
      endpoint,
      clock,
      log: log.child({ task: task.taskId }),
      lookUp,
      ...(onEvent === undefined ? {} : { onEvent }),
    });
    return new TaskBrowser(supervisor, reach);
  }

  async #endpoint(task: BrowserTask, backend: Exclude<Backend, { kind: 'rest' }>): Promise<Endpoint> {
    const { config, env } = this.#options;
    switch (backend.kind) {
      case 'running':
        return runningEndpoint(backend.address);
      case 'hosted':
        return hostedEndpoint(config.hosted ?? NO_HOSTED);
      case 'own':
        return startChromium({
          executable: backend.executable,
          folder: join(this.folder, task.taskId.replace(/[^\w-]/g, '_')),
          headless: config.headless,
          args: config.args,
          env,
        });
      case 'none':
        throw new SvcError('no_supervisor', backend.reason, {
          help: 'Install Chromium, set browser.executable, or connect to a running browser with /browser connect.',
        });
    }
  }
}

const NO_HOSTED = { session_method: 'POST', session_headers: {}, cdp_url_field: 'connectUrl' } as const;

function isUsable(browser: TaskBrowser | RestBrowser): boolean {
  if (browser.kind === 'rest') return true;
  const { kind } = browser.state.link;
  return kind !== 'gone' && kind !== 'stopped';
}
