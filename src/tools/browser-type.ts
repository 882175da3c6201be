// browser_type: text into a field.

import { z } from 'zod';
import { press, type } from '../browser/actions.ts';
import { settle } from '../browser/navigation.ts';
import type { Browsers } from '../browser/supervisors.ts';
import { browserTool } from './browser-tool.ts';

export const createBrowserType = (browsers: Browsers) =>
  browserTool(browsers, {
    name: 'browser_type',
    description:
      'Types text into the field of a ref from browser_snapshot. Replaces what stands there, unless `append`.',
    input: z.object({
      ref: z.string().min(1).describe('The ref of a textbox, e.g. f1e5.'),
      text: z.string().max(100_000).describe('The text; empty clears the field.'),
      append: z.boolean().optional().describe('True keeps the old text and adds to it.'),
      submit: z.boolean().optional().describe('True presses Enter afterwards.'),
    }),
    rest: (browser, { ref, text, submit = false }) => browser.type(ref, text, submit),
    async cdp(browser, { ref, text, append = false, submit = false }, { signal }) {
      const page = await browser.page(signal);
      const refusal = browser.refBlocked(page, ref);
      if (refusal !== undefined) return refusal;
      return browser.act('browser_type', page, async () => {
        const element = await browser.reader.element(ref);
        return settle(browser, page, async () => {
          await type(browser.supervisor, element, text, { clear: !append });
          if (submit) await press(browser.supervisor, page, 'Enter');
        });
      });
    },
  });
