// The shell around the rules: it feeds events to `reduce`, performs the commands that come back and keeps one timer.
// It decides nothing. State is read without waiting and never changes under the reader.

import { messageOf, SvcError } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import type { Clock } from '../core/time.ts';
import { type CallOptions, CdpConnection } from './cdp/connection.ts';
import type { CommandName, CommandParams, CommandResult } from './cdp/protocol.ts';
import { readEvent } from './cdp/protocol.ts';
import { areAllPublic } from './guard.ts';
import type { SupervisorEvent } from './reduce.ts';
import { reduce } from './reduce.ts';
import type { BrowserState, Command, SupervisorSettings } from './state.ts';
import { initialState } from './state.ts';

/** Where a browser is reached. */
export interface Endpoint {
  /** Asked before every connection: addresses expire and change with a restart. Rejects with SvcError. */
  address(): Promise<string>;
  /** Another address, when the first led nowhere: one that names a launch of the browser is old after a restart. */
  otherAddress?(): Promise<string>;
  /** Resolves with the reason when the browser itself has ended. Never resolves for browsers that are not ours. */
  ended?: Promise<string>;
  /** Ends a browser that is ours; does nothing to others. Calling it twice is fine. */
  close(): Promise<void>;
}

export interface SupervisorOptions {
  settings: SupervisorSettings;
  endpoint: Endpoint;
  clock: Pick<Clock, 'now'>;
  log: Logger;
  /** The addresses of a host name. */
  lookUp(host: string): Promise<readonly string[]>;
  /** Sees every event in order, for recordings. */
  onEvent?(event: SupervisorEvent): void;
}

interface Waiter {
  check(state: BrowserState): boolean;
  done(): void;
}

const STOP_GRACE_MS = 500;
const READY_MS = 15_000;

export class Supervisor {
  #options: SupervisorOptions;
  #state: BrowserState;
  #connection: CdpConnection | undefined;
  #timer: NodeJS.Timeout | undefined;
  #waiters = new Set<Waiter>();
  #queue: SupervisorEvent[] = [];
  #stopping: Promise<void> | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#state = initialState(options.settings);
    options.endpoint.ended?.then((reason) =>
      this.#dispatch({ kind: 'disconnected', reason, final: true, at: this.#now() }),
    );
    void this.#connect();
  }

  /** A frozen value: never waits, never changes. */
  get state(): BrowserState {
    return this.#state;
  }

  /** Resolves when the tabs of the browser are known. Rejects with `browser_gone` or `timeout`. */
  async ready(signal?: AbortSignal): Promise<void> {
    const settled = ({ link }: BrowserState) =>
      (link.kind === 'connected' && link.ready) || link.kind === 'gone' || link.kind === 'stopped';
    await this.until(settled, READY_MS, signal);
    const { link } = this.#state;
    if (link.kind === 'connected' && link.ready) return;
    const help = 'Call browser_navigate to try again, or check the browser with `svc browser doctor`.';
    if (link.kind === 'gone') throw new SvcError('browser_gone', `The browser is gone. ${link.reason}`, { help });
    if (link.kind === 'stopped') throw new SvcError('no_supervisor', 'The browser of this task was closed.', { help });
    throw new SvcError('timeout', 'The browser did not get ready in time.', { help });
  }

  /** Resolves with true as soon as the state fits, with false after the deadline or when the signal aborts. */
  async until(check: (state: BrowserState) => boolean, deadlineMs: number, signal?: AbortSignal): Promise<boolean> {
    if (check(this.#state)) return true;
    if (signal?.aborted) return false;
    const watch = this.watch(check, deadlineMs);
    signal?.addEventListener('abort', watch.stop);
    const outcome = await watch.fits;
    signal?.removeEventListener('abort', watch.stop);
    return outcome;
  }

  /** Looks at every state from now on until one fits. `stop` ends it early, with false. */
  watch(check: (state: BrowserState) => boolean, deadlineMs: number): { fits: Promise<boolean>; stop(): void } {
    const { promise: fits, resolve } = Promise.withResolvers<boolean>();
    const end = (outcome: boolean) => {
      this.#waiters.delete(waiter);
      clearTimeout(timer);
      resolve(outcome);
    };
    const waiter = { check, done: () => end(true) };
    const stop = () => end(false);
    const timer = setTimeout(stop, deadlineMs);
    if (check(this.#state)) end(true);
    else this.#waiters.add(waiter);
    return { fits, stop };
  }

  /** One protocol call. Rejects with `cdp_error`, `timeout` or `browser_gone`. */
  call<M extends CommandName>(method: M, params?: CommandParams<M>, options?: CallOptions): Promise<CommandResult<M>> {
    return this.callAny(method, params, options) as Promise<CommandResult<M>>;
  }

  /** The same for methods that only the caller knows. */
  callAny(method: string, params?: unknown, options?: CallOptions): Promise<unknown> {
    if (this.#connection !== undefined) return this.#connection.callAny(method, params, options);
    const help = 'Call browser_navigate to start or reach a browser again.';
    return Promise.reject(new SvcError('browser_gone', 'There is no connection to the browser.', { help }));
  }

  /** Hands in what the agent decided. */
  decide(event: Extract<SupervisorEvent, { kind: 'answer' | 'leave_page' | 'stay_on_page' | 'select_page' }>): void {
    this.#dispatch(event);
  }

  now(): number {
    return this.#now();
  }

  /** Dismisses open dialogs, then lets go of the browser, and ends it when it is ours. Never throws. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    this.#dispatch({ kind: 'stop', at: this.#now() });
    if (this.#connection !== undefined) {
      await this.until(({ pendingDialogs }) => pendingDialogs.length === 0, STOP_GRACE_MS);
      // The browser works commands off in order: when this comes back, the answers before it have been taken.
      await this.#connection.call('Browser.getVersion', undefined, { deadlineMs: STOP_GRACE_MS }).catch(() => {});
    }
    clearTimeout(this.#timer);
    this.#connection?.close();
    this.#connection = undefined;
    await this.#options.endpoint.close();
  }

  async #connect(): Promise<void> {
    const { endpoint } = this.#options;
    try {
      const connection = await this.#open(await endpoint.address()).catch(async (error) => {
        if (endpoint.otherAddress === undefined) throw error;
        return this.#open(await endpoint.otherAddress());
      });
      if (this.#state.link.kind !== 'connecting') {
        connection.close();
        return;
      }
      this.#connection = connection;
      this.#dispatch({ kind: 'connected', at: this.#now() });
    } catch (error) {
      this.#dispatch({ kind: 'connect_failed', reason: messageOf(error), at: this.#now() });
    }
  }

  async #open(url: string): Promise<CdpConnection> {
    const connection: CdpConnection = await CdpConnection.open({
      url,
      onEvent: (method, params, sessionId) => {
        const event = readEvent(method, params);
        if (event !== undefined) this.#dispatch({ kind: 'cdp', sessionId, event, at: this.#now() });
      },
      onClose: (reason) => {
        if (this.#connection !== connection) return;
        this.#connection = undefined;
        this.#dispatch({ kind: 'disconnected', reason, final: false, at: this.#now() });
      },
    });
    return connection;
  }

  /** Commands may cause further events at once; those wait their turn. */
  #dispatch(event: SupervisorEvent): void {
    this.#queue.push(event);
    if (this.#queue.length > 1) return;
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      this.#options.onEvent?.(next);
      const { state, commands } = reduce(this.#state, next);
      const changed = state.link.kind !== this.#state.link.kind;
      this.#state = Object.freeze(state);
      for (const command of commands) this.#perform(command);
      if (changed) this.#options.log.debug('Browser connection', { link: state.link.kind });
      this.#queue.shift();
    }
    for (const waiter of this.#waiters) if (waiter.check(this.#state)) waiter.done();
  }

  #perform(command: Command): void {
    switch (command.kind) {
      case 'send':
        this.#send(command);
        break;
      case 'reject_sessions':
        this.#connection?.rejectSessions(new Set(command.sessionIds), command.reason);
        break;
      case 'look_up':
        void this.#lookUp(command);
        break;
      case 'connect':
        void this.#connect();
        break;
      case 'disconnect': {
        const connection = this.#connection;
        this.#connection = undefined;
        connection?.close();
        break;
      }
      case 'wake':
        this.#wakeAt(command.at);
    }
  }

  #wakeAt(at: number | undefined): void {
    clearTimeout(this.#timer);
    if (at === undefined) return;
    const delayMs = Math.max(1, Math.ceil(at - this.#now()));
    this.#timer = setTimeout(() => this.#dispatch({ kind: 'time', at: this.#now() }), delayMs);
  }

  #send({ method, params, sessionId, tag }: Extract<Command, { kind: 'send' }>): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    if (tag === undefined) {
      connection.post(method, params, sessionId);
      return;
    }
    const reply = (failed: boolean, result: unknown) => {
      if (this.#connection === connection) this.#dispatch({ kind: 'reply', tag, failed, result, at: this.#now() });
    };
    // No deadline: the rules have their own, and a late answer of a page that was blocked is still the truth.
    connection.callAny(method, params, { sessionId, deadlineMs: 0 }).then(
      (result) => reply(false, result),
      () => reply(true, undefined),
    );
  }

  async #lookUp({ host, sessionId, requestId }: Extract<Command, { kind: 'look_up' }>): Promise<void> {
    const allowed = await this.#options.lookUp(host).then(areAllPublic, () => false);
    this.#dispatch({ kind: 'looked_up', sessionId, requestId, allowed, at: this.#now() });
  }

  #now(): number {
    return this.#options.clock.now();
  }
}
