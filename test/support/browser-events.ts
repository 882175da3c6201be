// Short words for supervisor events, and a way to play them: for tests of the rules, without any browser.

import { readEvent } from '../../src/browser/cdp/protocol.ts';
import { reduce, type SupervisorEvent } from '../../src/browser/reduce.ts';
import { type BrowserState, type Command, initialState, type SupervisorSettings } from '../../src/browser/state.ts';

export const SETTINGS: SupervisorSettings = {
  backend: 'local',
  policy: 'must_respond',
  watchdogMs: 300_000,
  bridge: 'auto',
  bypassCsp: false,
  guardPrivate: false,
};

export interface Played {
  state: BrowserState;
  commands: Command[];
}

export function play(events: readonly SupervisorEvent[], settings: Partial<SupervisorSettings> = {}): Played {
  return playOn(initialState({ ...SETTINGS, ...settings }), events);
}

export function playOn(state: BrowserState, events: readonly SupervisorEvent[]): Played {
  const commands: Command[] = [];
  let current = state;
  for (const event of events) {
    const change = reduce(current, event);
    current = change.state;
    commands.push(...change.commands);
  }
  return { state: current, commands };
}

/** What was sent, without set-up: method and parameters. */
export function sent(commands: readonly Command[], method: string): Record<string, unknown>[] {
  return commands.flatMap((command) => (command.kind === 'send' && command.method === method ? [command.params] : []));
}

export function cdp(method: string, params: unknown, sessionId: string | undefined, at = 0): SupervisorEvent {
  const event = readEvent(method, params);
  if (event === undefined) throw new Error(`not a known event: ${method} ${JSON.stringify(params)}`);
  return { kind: 'cdp', sessionId, event, at };
}

export const connected = (at = 0): SupervisorEvent => ({ kind: 'connected', at });
export const time = (at: number): SupervisorEvent => ({ kind: 'time', at });

export const pageAttached = (id = 'page', sessionId = 'P', at = 0, openerId?: string): SupervisorEvent =>
  cdp(
    'Target.attachedToTarget',
    {
      sessionId,
      waitingForDebugger: false,
      targetInfo: { targetId: id, type: 'page', url: 'http://a.test/', openerId },
    },
    undefined,
    at,
  );

export const frameTargetAttached = (
  frameId: string,
  sessionId: string,
  parentSessionId = 'P',
  parentFrameId = 'page',
): SupervisorEvent =>
  cdp(
    'Target.attachedToTarget',
    { sessionId, waitingForDebugger: true, targetInfo: { targetId: frameId, type: 'iframe', url: '', parentFrameId } },
    parentSessionId,
  );

export const navigated = (
  frameId: string,
  url: string,
  sessionId = 'P',
  parentId?: string,
  loaderId = `loader of ${url}`,
): SupervisorEvent =>
  cdp(
    'Page.frameNavigated',
    { frame: { id: frameId, parentId, loaderId, url, securityOrigin: new URL(url).origin }, type: 'Navigation' },
    sessionId,
  );

export const frameAdded = (frameId: string, parentFrameId = 'page', sessionId = 'P'): SupervisorEvent =>
  cdp('Page.frameAttached', { frameId, parentFrameId }, sessionId);

export function opened(type: string, details: Record<string, unknown> = {}, at = 0, sessionId = 'P'): SupervisorEvent {
  const params = {
    type,
    message: 'sure?',
    url: 'http://a.test/',
    frameId: 'page',
    hasBrowserHandler: true,
    ...details,
  };
  return cdp('Page.javascriptDialogOpening', params, sessionId, at);
}

export const closed = (at = 0, frameId = 'page'): SupervisorEvent =>
  cdp('Page.javascriptDialogClosed', { result: false, userInput: '', frameId }, 'P', at);

export const answered = (dialogId: string, accept: boolean, promptText?: string, at = 0): SupervisorEvent => ({
  kind: 'answer',
  answer: { dialogId, accept, promptText },
  at,
});

export const logged = (text: string, type = 'error', sessionId = 'P'): SupervisorEvent =>
  cdp('Runtime.consoleAPICalled', { type, args: [{ type: 'string', value: text }] }, sessionId);
