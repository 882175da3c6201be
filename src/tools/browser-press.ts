// browser_press: one key or key combination.

import { z } from 'zod';
import { focus, press } from '../browser/actions.ts';
import { settle } from '../browser/navigation.ts';
import type { Browsers } from '../browser/supervisors.ts';
import { browserTool } from './browser-tool.ts';

export const createBrowserPress = (browsers: Browsers) =>
  browserTool(browsers, {
    name: 'browser_press',
    description: 'Presses a key, e.g. Enter, Escape, ArrowDown, Control+A, in the focused element or in that of a ref.',
    input: z.object({
      key: z.string().min(1).max(40).describe('Name of the key.'),
      ref: z.string().min(1).optional().describe('Focuses this element first.'),
    }),
    rest: (browser, { key }) => browser.press(key),
    async cdp(browser, { key, ref }, { signal }) {
      const page = await browser.page(signal);
      const refusal = ref === undefined ? browser.inputBlocked(page, page.sessionId) : browser.refBlocked(page, ref);
      if (refusal !== undefined) return refusal;
      return browser.act('browser_press', page, async () => {
        if (ref !== undefined) await focus(browser.supervisor, await browser.reader.element(ref));
        return settle(browser, page, () => press(browser.supervisor, page, key));
      });
    },
  });
