// browser_click: a real click on the element of a ref, also inside cross-origin frames.

import { z } from 'zod';
import { click } from '../browser/actions.ts';
import { settle } from '../browser/navigation.ts';
import type { Browsers } from '../browser/supervisors.ts';
import { browserTool } from './browser-tool.ts';

export const createBrowserClick = (browsers: Browsers) =>
  browserTool(browsers, {
    name: 'browser_click',
    description:
      'Clicks the element of a ref from browser_snapshot and waits for the navigation it may start. ' +
      'Tells when the click opened a dialog or a tab.',
    input: z.object({
      ref: z.string().min(1).describe('The ref, e.g. f1e5.'),
      button: z.enum(['left', 'right', 'middle']).optional().describe('Mouse button; default left.'),
      double: z.boolean().optional().describe('True for a double click.'),
    }),
    rest: (browser, { ref }) => browser.click(ref),
    async cdp(browser, { ref, button = 'left', double = false }, { signal }) {
      const page = await browser.page(signal);
      const refusal = browser.refBlocked(page, ref);
      if (refusal !== undefined) return refusal;
      return browser.act('browser_click', page, async () => {
        const element = await browser.reader.element(ref);
        return settle(browser, page, () => click(browser.supervisor, element, { button, double }));
      });
    },
  });
