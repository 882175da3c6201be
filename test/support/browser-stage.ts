// A stage for browser scenarios: one Chromium for a whole test file, one set of sites, and for each scenario a task of its
// own with the real tools. Whatever a scenario opens is closed again.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CdpConnection } from '../../src/browser/cdp/connection.ts';
import { findChromium, startChromium } from '../../src/browser/chromium.ts';
import type { SupervisorEvent } from '../../src/browser/reduce.ts';
import type { BrowserState } from '../../src/browser/state.ts';
import type { Endpoint } from '../../src/browser/supervisor.ts';
import { Browsers } from '../../src/browser/supervisors.ts';
import type { BrowserResult, TaskBrowser } from '../../src/browser/task-browser.ts';
import { type ConfigInput, configSchema } from '../../src/config/schema.ts';
import { silentLog } from '../../src/core/log.ts';
import { realClock } from '../../src/system/clock.ts';
import type { BrowserTool } from '../../src/tools/browser-tool.ts';
import { createBrowserTools } from '../../src/tools/browser-tools.ts';
import { type Pages, SITE_FLAGS, type Sites, startSites } from './sites.ts';

export interface Theatre {
  address: string;
  sites: Sites;
  folder: string;
  endpoint: Endpoint;
  close(): Promise<void>;
}

/** The Chromium of this machine. Without one, live tests are skipped aloud, or fail when they are required. */
export async function chromiumOrSkip(): Promise<string | undefined> {
  const found = await findChromium(process.env);
  if (found === undefined && process.env.SVC_E2E === 'required')
    throw new Error('Chromium is required and was not found.');
  return found;
}

export async function openTheatre(pages: Pages, tls?: { key: string; cert: string }): Promise<Theatre> {
  const executable = await chromiumOrSkip();
  if (executable === undefined) throw new Error('No Chromium.');
  const folder = await mkdtemp(join(tmpdir(), 'svc-browser-'));
  const sites = await startSites(pages, tls);
  const options = { executable, folder: join(folder, 'chromium'), headless: true, args: SITE_FLAGS, env: process.env };
  const endpoint = await startChromium(options);
  return {
    address: await endpoint.address(),
    sites,
    folder,
    endpoint,
    async close() {
      await endpoint.close();
      await sites.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

type BrowserInput = NonNullable<ConfigInput['browser']>;

export interface StageOptions {
  config?: BrowserInput;
  trust?: 'person' | 'untrusted';
  onEvent?(event: SupervisorEvent): void;
  lookUp?(host: string): Promise<string[]>;
}

export class Stage {
  readonly theatre: Theatre;
  readonly browsers: Browsers;
  readonly context: { taskId: string; trust: 'person' | 'untrusted'; grantedTools: string[]; signal: AbortSignal };
  #tools: Map<string, BrowserTool>;
  #clients: CdpConnection[] = [];

  constructor(theatre: Theatre, options: StageOptions = {}) {
    this.theatre = theatre;
    // A task with no other backend is attached to the Chromium of the file.
    const isElsewhere = options.config !== undefined && ('hosted' in options.config || 'executable' in options.config);
    const config = { ...(isElsewhere ? {} : { cdp_url: theatre.address }), ...options.config };
    this.browsers = new Browsers({
      config: configSchema.parse({ browser: config }).browser,
      folder: join(theatre.folder, 'tasks'),
      env: process.env,
      clock: realClock,
      log: silentLog,
      ...(options.lookUp === undefined ? {} : { lookUp: options.lookUp }),
      ...(options.onEvent === undefined ? {} : { onEvent: options.onEvent }),
    });
    this.context = {
      taskId: 'task',
      trust: options.trust ?? 'person',
      grantedTools: [],
      signal: AbortSignal.timeout(120_000),
    };
    this.#tools = new Map(createBrowserTools(this.browsers).map((tool) => [tool.name, tool]));
  }

  url(site: string, path = '/'): string {
    return this.theatre.sites.url(site, path);
  }

  tool(name: string): BrowserTool {
    const tool = this.#tools.get(`browser_${name}`);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    return tool;
  }

  /** Calls a tool, e.g. `call('click', { ref })`. */
  call(name: string, input: Record<string, unknown> = {}): Promise<BrowserResult> {
    return this.tool(name).call(input, this.context);
  }

  async open(site: string, path = '/'): Promise<BrowserResult> {
    return this.call('navigate', { url: this.url(site, path) });
  }

  /** The ref behind a text of the snapshot, e.g. `refOf('button "Buy"')`. Waits until it is there. */
  async refOf(start: string): Promise<string> {
    let text = '';
    for (let tries = 0; tries < 50; tries++) {
      const result = await this.call('snapshot', { max_chars: 100_000 });
      text = String(result.snapshot);
      const at = text.indexOf(start);
      const ref = at < 0 ? undefined : /\[(f\d+e\d+)\]/.exec(text.slice(at))?.[1];
      if (ref !== undefined) return ref;
      await sleep(100);
    }
    throw new Error(`no ${start} in:\n${text}`);
  }

  async clickOn(start: string): Promise<BrowserResult> {
    return this.call('click', { ref: await this.refOf(start) });
  }

  async browser(): Promise<TaskBrowser> {
    const browser = await this.browsers.start(this.context);
    if (browser.kind !== 'cdp') throw new Error('no supervisor');
    return browser;
  }

  async state(): Promise<BrowserState> {
    return (await this.browser()).state;
  }

  /** Waits until the state fits; fails with what it was instead. */
  async until(what: string, check: (state: BrowserState) => boolean, deadlineMs = 10_000): Promise<BrowserState> {
    const { supervisor } = await this.browser();
    if (await supervisor.until(check, deadlineMs)) return supervisor.state;
    throw new Error(
      `${what} did not happen; state: ${JSON.stringify([...supervisor.state.pages.values()]).slice(0, 2000)}`,
    );
  }

  /** Starts a script in the current tab, or in the frame of an origin, and does not wait for it by itself. */
  async script(expression: string, origin?: string): Promise<{ value: Promise<unknown> }> {
    const { supervisor } = await this.browser();
    const page = supervisor.state.pages.get(supervisor.state.currentPageId ?? '');
    const frame = [...(page?.frames.values() ?? [])].find((one) => one.origin === origin);
    const sessionId = origin === undefined ? page?.sessionId : frame?.sessionId;
    if (sessionId === undefined) throw new Error(`no session for ${origin}`);
    const params = { expression, returnByValue: true, awaitPromise: true, userGesture: true };
    const reply = supervisor.call('Runtime.evaluate', params, { sessionId, deadlineMs: 30_000 });
    const value = reply.then(({ result }) => result.value as unknown);
    value.catch(() => {});
    return { value };
  }

  /** Another client of the same browser, with the page events of all its tabs. Dismisses dialogs by itself when asked to. */
  async secondClient(dismiss: boolean): Promise<CdpConnection> {
    const client: CdpConnection = await CdpConnection.open({
      url: this.theatre.address,
      onClose: () => {},
      onEvent: (method, params, sessionId) => {
        if (method === 'Target.attachedToTarget') {
          client.post('Page.enable', {}, (params as { sessionId: string }).sessionId);
          client.post('Runtime.runIfWaitingForDebugger', {}, (params as { sessionId: string }).sessionId);
        }
        if (method === 'Page.javascriptDialogOpening' && dismiss) {
          client.post('Page.handleJavaScriptDialog', { accept: false }, sessionId);
        }
      },
    });
    this.#clients.push(client);
    await client.call('Target.setAutoAttach', {
      autoAttach: true,
      waitForDebuggerOnStart: false,
      flatten: true,
      filter: [{ type: 'page' }],
    });
    return client;
  }

  /** Leaves the browser with one empty tab, as it was before. */
  async close(): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.browsers.stop();
    await tidy(this.theatre.address).catch(() => {});
  }
}

async function tidy(address: string): Promise<void> {
  const client = await CdpConnection.open({ url: address, onEvent: () => {}, onClose: () => {} });
  const { targetInfos } = await client.call('Target.getTargets');
  const { targetId } = await client.call('Target.createTarget', { url: 'about:blank' });
  const old = targetInfos.filter((info) => info.type === 'page' && info.targetId !== targetId);
  await Promise.all(old.map((info) => client.call('Target.closeTarget', { targetId: info.targetId })));
  for (let tries = 0; tries < 50; tries++) {
    const { targetInfos: left } = await client.call('Target.getTargets');
    if (left.filter((info) => info.type === 'page').length === 1) break;
    await sleep(100);
  }
  client.close();
}
