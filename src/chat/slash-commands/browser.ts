// /browser: attaches the chat to a browser that runs already, lets go of it, and tells what is attached.

import type { Browsers } from '../../browser/supervisors.ts';
import { SvcError } from '../../core/errors.ts';
import type { SlashCommand, SlashContext } from '../slash-command.ts';

const DEFAULT_ADDRESS = '9222';

export const createBrowserCommand = (browsers: Browsers): SlashCommand => ({
  name: 'browser',
  summary: 'Use a browser that runs already, or let go of it.',
  usage: '/browser connect [url | port] | disconnect | status',
  async run([action = 'status', address = DEFAULT_ADDRESS], context) {
    if (action === 'connect') await connect(browsers, address, context);
    else if (action === 'disconnect') {
      await browsers.end(context.sessionId);
      context.print('Disconnected. The browser itself goes on if it was yours.');
    } else if (action === 'status') await status(browsers, context);
    else {
      throw new SvcError('usage', `/browser has no action ${action}.`, {
        help: 'Use /browser connect [url | port], /browser disconnect or /browser status.',
      });
    }
    return undefined;
  },
});

async function connect(browsers: Browsers, address: string, { sessionId, print }: SlashContext): Promise<void> {
  const browser = await browsers.connect({ taskId: sessionId, trust: 'person' }, address);
  const tabs = browser.kind === 'cdp' ? browser.state.pages.size : 0;
  print(`Connected. ${tabs === 1 ? 'One tab is' : `${tabs} tabs are`} open there.`);
}

async function status(browsers: Browsers, { sessionId, print }: SlashContext): Promise<void> {
  const browser = await browsers.running(sessionId);
  if (browser === undefined) {
    const backend = await browsers.backend(sessionId);
    print(
      backend.kind === 'none' ? backend.reason : `No browser is open yet; ${DESCRIPTIONS[backend.kind]} will be used.`,
    );
    return;
  }
  if (browser.kind === 'rest') return print('Using a backend with REST only.');
  const { link, pages, pendingDialogs } = browser.state;
  print(`Browser: ${link.kind}, ${pages.size} tabs, ${pendingDialogs.length} open dialogs.`);
}

const DESCRIPTIONS = {
  running: 'the browser you connected',
  hosted: 'the hosted browser',
  rest: 'the REST backend',
  own: 'a Chromium of its own',
} as const;
