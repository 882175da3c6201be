// browser_back: one page back in the history of the tab.

import { z } from 'zod';
import { goBack } from '../browser/navigation.ts';
import type { Browsers } from '../browser/supervisors.ts';
import { browserTool } from './browser-tool.ts';

export const createBrowserBack = (browsers: Browsers) =>
  browserTool(browsers, {
    name: 'browser_back',
    description: 'Goes back to the previous page of the tab.',
    input: z.object({}),
    rest: (browser) => browser.back(),
    async cdp(browser, _input, { signal }) {
      const page = await browser.page(signal);
      const refusal = browser.blocked(page, page.sessionId);
      if (refusal !== undefined) return refusal;
      return browser.act('browser_back', page, () => goBack(browser, page));
    },
  });
