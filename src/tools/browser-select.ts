// browser_select: options of a select element.

import { z } from 'zod';
import { select } from '../browser/actions.ts';
import { settle } from '../browser/navigation.ts';
import type { Browsers } from '../browser/supervisors.ts';
import { browserTool } from './browser-tool.ts';

export const createBrowserSelect = (browsers: Browsers) =>
  browserTool(browsers, {
    name: 'browser_select',
    description: 'Selects options of a combobox (a select element) by their text or value.',
    input: z.object({
      ref: z.string().min(1).describe('The ref of the combobox, e.g. f1e5.'),
      values: z.array(z.string()).min(1).max(100).describe('Texts or values of the options.'),
    }),
    async cdp(browser, { ref, values }, { signal }) {
      const page = await browser.page(signal);
      const refusal = browser.refBlocked(page, ref);
      if (refusal !== undefined) return refusal;
      return browser.act('browser_select', page, async () => {
        const element = await browser.reader.element(ref);
        let selected: unknown;
        const place = await settle(browser, page, async () => {
          selected = await select(browser.supervisor, element, values);
        });
        return { ...place, selected };
      });
    },
  });
