// browser_wait: for a text to come or go, for an address, or simply for some time. A dialog ends the wait.

import { z } from 'zod';
import { whereabouts } from '../browser/navigation.ts';
import type { Browsers } from '../browser/supervisors.ts';
import { failure, type TaskBrowser } from '../browser/task-browser.ts';
import { browserTool } from './browser-tool.ts';

const LOOK_EVERY_MS = 200;
const DEFAULT_TIMEOUT_S = 10;
/** For the last look at the page. */
const GRACE_MS = 10_000;

export const createBrowserWait = (browsers: Browsers) =>
  browserTool(browsers, {
    name: 'browser_wait',
    description:
      'Waits until a text is on the page, or gone from it, or until the address contains something; or just waits.',
    input: z.object({
      text: z.string().min(1).optional().describe('Waits until this text is on the page.'),
      text_gone: z.string().min(1).optional().describe('Waits until this text is gone.'),
      url: z.string().min(1).optional().describe('Waits until the address contains this.'),
      timeout_s: z.number().positive().max(120).optional().describe(`Longest wait; default ${DEFAULT_TIMEOUT_S}.`),
    }),
    async cdp(browser, { text, text_gone, url, timeout_s = DEFAULT_TIMEOUT_S }, { signal }) {
      const page = await browser.page(signal);
      const refusal = browser.blocked(page, page.sessionId);
      if (refusal !== undefined) return refusal;
      const forTime = text === undefined && text_gone === undefined && url === undefined;
      const end = performance.now() + timeout_s * 1000;
      let found = false;
      const result = await browser.act(
        'browser_wait',
        page,
        async () => {
          while (performance.now() < end && !signal.aborted && !found) {
            found = !forTime && (await isThere(browser, page.id, { text, text_gone, url }));
            if (!found) await pause(Math.min(LOOK_EVERY_MS, Math.max(0, end - performance.now())), signal);
          }
          return { waited: forTime || found, ...(await whereabouts(browser, page.id)) };
        },
        timeout_s * 1000 + GRACE_MS,
      );
      if (!result.success || forTime || found || 'interrupted' in result) return result;
      return failure(
        'timeout',
        `It did not happen within ${timeout_s} s.`,
        'Take a browser_snapshot to see the page as it is.',
      );
    },
  });

interface Wanted {
  text: string | undefined;
  text_gone: string | undefined;
  url: string | undefined;
}

async function isThere(browser: TaskBrowser, pageId: string, wanted: Wanted): Promise<boolean> {
  const page = browser.state.pages.get(pageId);
  if (page === undefined) return false;
  if (wanted.url !== undefined && !page.frames.get(page.rootFrameId)?.url.includes(wanted.url)) return false;
  if (wanted.text === undefined && wanted.text_gone === undefined) return true;
  const { text } = await browser.reader.read(page);
  if (wanted.text !== undefined && !text.includes(wanted.text)) return false;
  return wanted.text_gone === undefined || !text.includes(wanted.text_gone);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
