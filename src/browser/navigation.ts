// Where a task goes: to an address, back, to another tab; and how long an action waits for what it set off.

import { lookup } from 'node:dns/promises';
import { SvcError } from '../core/errors.ts';
import { areAllPublic, isWebAddress, judgeUrl, NOT_WEB } from './guard.ts';
import type { BrowserState, Page } from './state.ts';
import type { TaskBrowser } from './task-browser.ts';

const NAVIGATE_MS = 30_000;
const LOAD_MS = 15_000;
/** A page that can be read but still loads pictures is not waited for much longer. */
const RESOURCES_MS = 1500;
/** An action that leads elsewhere starts to do so within this time. */
const REACTION_MS = 120;
const NOWHERE = 'data:,';

/** Rejects with `invalid_input` for text that is no address. `example.org/x` means https. */
export function readAddress(text: string): string {
  const trimmed = text.trim();
  const hasScheme = /^[a-z][a-z0-9+.-]*:(?!\d)/i.test(trimmed);
  const isLocal = /^(localhost|127\.|\[::1\])/i.test(trimmed);
  const url = URL.parse(hasScheme ? trimmed : `${isLocal ? 'http' : 'https'}://${trimmed}`);
  const help = 'Give a whole address, e.g. https://example.org/page.';
  if (url === null || trimmed === '') throw new SvcError('invalid_input', 'This is not an address.', { help });
  if (url.protocol === 'javascript:') {
    throw new SvcError('invalid_input', 'Scripts are not addresses.', {
      help: 'Use browser_cdp with Runtime.evaluate.',
    });
  }
  return url.href;
}

/** Who may go where. Nobody leaves the web. */
export interface Reach {
  allowPrivate: boolean;
  /** Holds no text from outside: gets the calls of the protocol that could lift a guard. */
  trusted: boolean;
  /** The addresses of a host name. */
  lookUp(host: string): Promise<readonly string[]>;
}

/** Rejects with `invalid_input` when the task must stay away from this address. */
export async function checkAddress({ allowPrivate, lookUp }: Omit<Reach, 'trusted'>, url: string): Promise<void> {
  if (!isWebAddress(url)) throw new SvcError('invalid_input', NOT_WEB.message, { help: NOT_WEB.help });
  if (allowPrivate) return;
  const verdict = judgeUrl(url);
  const allowed =
    verdict.kind === 'look_up' ? areAllPublic(await lookUp(verdict.host).catch(() => [])) : verdict.kind === 'allowed';
  if (!allowed) throw privateRefused();
}

export async function addressesOf(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => address);
}

/** The tab to navigate in: the current one, or a new one when none is open. */
export async function pageForNavigation(browser: TaskBrowser, signal: AbortSignal): Promise<Page> {
  const { supervisor } = browser;
  await supervisor.ready(signal);
  const current = browser.state.pages.get(browser.state.currentPageId ?? '');
  return current === undefined ? openTab(browser, 'about:blank') : browser.settled(current);
}

export async function navigate(browser: TaskBrowser, page: Page, url: string): Promise<Record<string, unknown>> {
  const { supervisor } = browser;
  const seen = browser.state.dialogCount;
  const options = { sessionId: page.sessionId, deadlineMs: 0 };
  const hop = isAsking(browser.state, page.id, supervisor.now());
  // A held bridge request would stall the navigation, and a native dialog would be closed by it anyway.
  supervisor.decide({ kind: 'leave_page', pageId: page.id, at: supervisor.now() });
  // A page that asks again and again never lets go of its process, and a page of the same site would wait for that
  // process for ever. A page of no site gets another one.
  if (hop) await supervisor.call('Page.navigate', { url: NOWHERE }, { ...options, deadlineMs: LOAD_MS });
  const before = browser.state.pages.get(page.id)?.frames.get(page.rootFrameId)?.loaderId;
  const reply = await supervisor.call('Page.navigate', { url }, options);
  if (reply.errorText !== undefined) {
    supervisor.decide({ kind: 'stay_on_page', pageId: page.id, at: supervisor.now() });
    return explainFailure(browser, page, url, reply.errorText, seen);
  }
  if (reply.loaderId !== undefined) await arrived(browser, page.id, before);
  await loaded(browser, page.id);
  return whereabouts(browser, page.id);
}

export async function goBack(browser: TaskBrowser, page: Page): Promise<Record<string, unknown>> {
  const { supervisor } = browser;
  const options = { sessionId: page.sessionId };
  const { entries, currentIndex } = await supervisor.call('Page.getNavigationHistory', undefined, options);
  const entry = entries.slice(0, Math.max(0, currentIndex)).findLast((one) => one.url !== NOWHERE);
  if (entry === undefined) {
    throw new SvcError('not_found', 'There is no page to go back to.', {
      help: 'Use browser_navigate with an address.',
    });
  }
  const before = browser.state.pages.get(page.id)?.frames.get(page.rootFrameId)?.loaderId;
  await supervisor.call('Page.navigateToHistoryEntry', { entryId: entry.id }, { ...options, deadlineMs: 0 });
  await arrived(browser, page.id, before);
  await loaded(browser, page.id);
  return whereabouts(browser, page.id);
}

/** Does something to a page, then waits for the navigation that it may have started and names the tabs it opened. */
export async function settle(
  browser: TaskBrowser,
  page: Page,
  action: () => Promise<void>,
): Promise<Record<string, unknown>> {
  const { supervisor } = browser;
  const tabs = new Set(browser.state.pages.keys());
  // A tab behind another one draws nothing, and input waits for drawing.
  if (tabs.size > 1) await supervisor.call('Page.bringToFront', undefined, { sessionId: page.sessionId });
  await action();
  const reacted = (state: BrowserState) =>
    state.pages.get(page.id)?.loading !== 'done' || [...state.pages.keys()].some((id) => !tabs.has(id));
  await supervisor.until(reacted, REACTION_MS);
  await loaded(browser, page.id);
  const opened = [...browser.state.pages.keys()].filter((id) => !tabs.has(id));
  await supervisor.until((state) => opened.every((id) => hasAddress(state, id)), REACTION_MS * 5);
  const found = browser.state.pages.has(page.id) ? await whereabouts(browser, page.id) : { closed: true };
  return opened.length === 0
    ? found
    : { ...found, opened_tabs: await Promise.all(opened.map((id) => tabOf(browser, id))) };
}

export interface Tab {
  target_id: string;
  url: string;
  title: string;
  current: boolean;
}

/** Asks the browser, not the pages: it answers even when a page is blocked. */
export async function listTabs(browser: TaskBrowser): Promise<Tab[]> {
  await browser.supervisor.ready();
  return Promise.all([...browser.state.pages.keys()].map((id) => tabOf(browser, id)));
}

export async function openTab(browser: TaskBrowser, url: string): Promise<Page> {
  const { supervisor } = browser;
  const { targetId } = await supervisor.call('Target.createTarget', { url });
  await supervisor.until((state) => state.pages.has(targetId), NAVIGATE_MS);
  const page = browser.state.pages.get(targetId);
  if (page === undefined) {
    throw new SvcError('timeout', 'The new tab did not appear.', { help: 'Look at the open tabs with browser_tabs.' });
  }
  supervisor.decide({ kind: 'select_page', pageId: targetId, at: supervisor.now() });
  return browser.settled(page);
}

export function findTab(browser: TaskBrowser, targetId: string): Page {
  const page = browser.state.pages.get(targetId);
  if (page !== undefined) return page;
  throw new SvcError('not_found', `No open tab has the id ${targetId}.`, {
    help: 'List the open tabs with browser_tabs.',
  });
}

export async function selectTab(browser: TaskBrowser, page: Page): Promise<void> {
  const { supervisor } = browser;
  supervisor.decide({ kind: 'select_page', pageId: page.id, at: supervisor.now() });
  await supervisor.call('Target.activateTarget', { targetId: page.id }).catch(() => {});
}

export async function closeTab(browser: TaskBrowser, page: Page): Promise<void> {
  const { supervisor } = browser;
  supervisor.decide({ kind: 'leave_page', pageId: page.id, at: supervisor.now() });
  await supervisor.call('Target.closeTarget', { targetId: page.id });
  await supervisor.until((state) => !state.pages.has(page.id), REACTION_MS * 10);
}

/** A dialog is open, or closed so shortly ago that the next one may be on its way. */
function isAsking(state: BrowserState, pageId: string, now: number): boolean {
  const isHere = (dialog: { pageId: string; type: string }) =>
    dialog.pageId === pageId && dialog.type !== 'beforeunload';
  return (
    state.pendingDialogs.some(isHere) ||
    state.recentDialogs.some((dialog) => isHere(dialog) && now - dialog.closedAt < 500)
  );
}

export async function whereabouts(browser: TaskBrowser, pageId: string): Promise<{ url: string; title: string }> {
  const { url, title } = await tabOf(browser, pageId);
  return { url, title };
}

async function tabOf(browser: TaskBrowser, targetId: string): Promise<Tab> {
  const { targetInfo } = await browser.supervisor.call('Target.getTargetInfo', { targetId });
  return {
    target_id: targetId,
    url: targetInfo.url,
    title: targetInfo.title,
    current: targetId === browser.state.currentPageId,
  };
}

/** A popup begins without an address. */
function hasAddress(state: BrowserState, pageId: string): boolean {
  const page = state.pages.get(pageId);
  return page === undefined || !/^(about:blank|:|)$/.test(page.frames.get(page.rootFrameId)?.url ?? '');
}

/** A new document is in the tab. */
async function arrived(browser: TaskBrowser, pageId: string, before: string | undefined): Promise<void> {
  const isNew = (state: BrowserState) => {
    const page = state.pages.get(pageId);
    return page === undefined || page.frames.get(page.rootFrameId)?.loaderId !== before;
  };
  await browser.supervisor.until(isNew, LOAD_MS);
}

async function loaded(browser: TaskBrowser, pageId: string): Promise<void> {
  const loading = (state: BrowserState) => state.pages.get(pageId)?.loading ?? 'done';
  await browser.supervisor.until((state) => loading(state) !== 'document', LOAD_MS);
  await browser.supervisor.until((state) => loading(state) === 'done', RESOURCES_MS);
}

async function explainFailure(
  browser: TaskBrowser,
  page: Page,
  url: string,
  errorText: string,
  seen: number,
): Promise<Record<string, unknown>> {
  // The reply may come before the close of the dialog is told.
  const stayed = [...browser.state.recentDialogs, ...browser.state.pendingDialogs].some(
    (dialog) => dialog.type === 'beforeunload' && dialog.pageId === page.id && Number(dialog.id.slice(2)) > seen,
  );
  if (errorText === 'net::ERR_ABORTED' && stayed) {
    const note = 'The page asked before leaving and that was dismissed: the tab stays where it was.';
    return { ...(await whereabouts(browser, page.id)), navigated: false, note };
  }
  if (errorText === 'net::ERR_BLOCKED_BY_CLIENT' && !browser.reach.allowPrivate) throw privateRefused();
  const help = 'Check the address; a download or an empty answer also ends like this.';
  throw new SvcError('cdp_error', `The page could not be loaded: ${errorText}.`, { help, cause: url });
}

function privateRefused(): SvcError {
  const help = 'Set browser.allow_private to true if tasks like this may reach your own network.';
  return new SvcError('invalid_input', 'This address is not on the public internet and is refused here.', { help });
}
