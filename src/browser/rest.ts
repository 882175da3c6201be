// A backend with REST only: tabs, snapshots and input through a handful of calls (the interface of camofox-browser).
// It knows no dialogs and no frames; the tools that need those are hidden.

import { messageOf, SvcError } from '../core/errors.ts';
import type { Reach } from './navigation.ts';
import { type BrowserResult, fail } from './task-browser.ts';

const CALL_MS = 35_000;

export class RestBrowser {
  readonly kind = 'rest';
  readonly reach: Reach;
  #base: string;
  #userId: string;
  #tabId: string | undefined;

  /** `taskId` keeps cookies and tabs of tasks apart. */
  constructor(base: string, taskId: string, reach: Reach) {
    this.reach = reach;
    this.#base = base.replace(/\/+$/, '');
    this.#userId = taskId;
  }

  navigate(url: string): Promise<BrowserResult> {
    return this.#answer(async () => {
      if (this.#tabId !== undefined) return this.#tab('POST', 'navigate', { url });
      const made = await this.#call('POST', '/tabs', { userId: this.#userId, sessionKey: 'svc', url });
      if (typeof made.tabId !== 'string')
        throw new SvcError('browser_gone', 'The backend opened no tab.', { help: HELP });
      this.#tabId = made.tabId;
      return { url, ...made };
    });
  }

  snapshot(): Promise<BrowserResult> {
    return this.#answer(async () => {
      const { snapshot, url, title } = await this.#tab('GET', 'snapshot');
      return { url, ...(title === undefined ? {} : { title }), snapshot };
    });
  }

  click(ref: string): Promise<BrowserResult> {
    return this.#answer(() => this.#tab('POST', 'click', { ref }));
  }

  type(ref: string, text: string, submit: boolean): Promise<BrowserResult> {
    return this.#answer(() => this.#tab('POST', 'type', { ref, text, pressEnter: submit }));
  }

  press(key: string): Promise<BrowserResult> {
    return this.#answer(() => this.#tab('POST', 'press', { key }));
  }

  scroll(direction: string, amount: number | undefined): Promise<BrowserResult> {
    return this.#answer(() => this.#tab('POST', 'scroll', { direction, ...(amount === undefined ? {} : { amount }) }));
  }

  back(): Promise<BrowserResult> {
    return this.#answer(() => this.#tab('POST', 'back', {}));
  }

  /** The picture as PNG bytes. Rejects with SvcError. */
  async screenshot(): Promise<Buffer> {
    const response = await this.#fetch('GET', this.#tabPath('screenshot'));
    return Buffer.from(await response.arrayBuffer());
  }

  /** Closes the tabs of the task. Never throws. */
  async stop(): Promise<void> {
    if (this.#tabId === undefined) return;
    await this.#fetch('DELETE', `/sessions/${encodeURIComponent(this.#userId)}`).catch(() => {});
    this.#tabId = undefined;
  }

  async #answer(work: () => Promise<Record<string, unknown>>): Promise<BrowserResult> {
    try {
      return { success: true, ...(await work()) };
    } catch (error) {
      return fail(error);
    }
  }

  #tab(method: 'GET' | 'POST', what: string, body?: Record<string, unknown>): Promise<Record<string, unknown>> {
    return this.#call(method, this.#tabPath(what), body && { userId: this.#userId, ...body });
  }

  #tabPath(what: string): string {
    if (this.#tabId === undefined) {
      throw new SvcError('no_supervisor', 'No page is open yet.', { help: 'Open one with browser_navigate.' });
    }
    return `/tabs/${encodeURIComponent(this.#tabId)}/${what}?userId=${encodeURIComponent(this.#userId)}`;
  }

  async #call(method: string, path: string, body?: Record<string, unknown>): Promise<Record<string, unknown>> {
    const response = await this.#fetch(method, path, body);
    const value: unknown = await response.json().catch(() => undefined);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  }

  async #fetch(method: string, path: string, body?: Record<string, unknown>): Promise<Response> {
    const init =
      body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const signal = AbortSignal.timeout(CALL_MS);
    const response = await fetch(`${this.#base}${path}`, { method, signal, ...init }).catch((cause) => {
      throw new SvcError('browser_gone', `The browser backend does not answer: ${messageOf(cause)}`, {
        help: HELP,
        cause,
      });
    });
    if (response.ok) return response;
    throw new SvcError('cdp_error', `The browser backend refused the call (status ${response.status}).`, {
      help: response.status === 404 ? 'Take a new browser_snapshot; the tab or ref may be gone.' : HELP,
    });
  }
}

const HELP = 'Check browser.rest_url and that the backend runs.';
