// browser_navigate: opens an address in the task's tab, and a browser when there is none yet.

import { z } from 'zod';
import { checkAddress, navigate, pageForNavigation, readAddress } from '../browser/navigation.ts';
import type { Browsers } from '../browser/supervisors.ts';
import { browserTool } from './browser-tool.ts';

export const createBrowserNavigate = (browsers: Browsers) =>
  browserTool(browsers, {
    name: 'browser_navigate',
    description:
      'Opens an address in the browser and waits until the page can be read. Starts the browser when needed. ' +
      'Open dialogs of the page are dismissed. Follow with browser_snapshot to read the page.',
    input: z.object({
      url: z.string().min(1).max(100_000).describe('The address; https is assumed when no scheme is given.'),
    }),
    starts: true,
    async rest(browser, { url }) {
      const address = readAddress(url);
      await checkAddress(browser.reach, address);
      return browser.navigate(address);
    },
    async cdp(browser, { url }, { signal }) {
      const address = readAddress(url);
      await checkAddress(browser.reach, address);
      const page = await pageForNavigation(browser, signal);
      return browser.act('browser_navigate', page, () => navigate(browser, page, address));
    },
  });
