// browser_scroll: the page, or what an element lies in.

import { z } from 'zod';
import { SCROLL_DIRECTIONS, scroll } from '../browser/actions.ts';
import type { Browsers } from '../browser/supervisors.ts';
import { browserTool } from './browser-tool.ts';

export const createBrowserScroll = (browsers: Browsers) =>
  browserTool(browsers, {
    name: 'browser_scroll',
    description: 'Scrolls the page, or with a ref brings that element into view or scrolls the box it lies in.',
    input: z.object({
      direction: z.enum(SCROLL_DIRECTIONS).optional().describe('Default: down; with a ref and none, into view.'),
      pixels: z.int().positive().max(1_000_000).optional().describe('How far; default most of a window.'),
      ref: z.string().min(1).optional().describe('An element of the snapshot.'),
    }),
    rest: (browser, { direction = 'down', pixels }) => browser.scroll(direction, pixels),
    async cdp(browser, { direction, pixels, ref }, { signal }) {
      const page = await browser.page(signal);
      const refusal = ref === undefined ? browser.blocked(page, page.sessionId) : browser.refBlocked(page, ref);
      if (refusal !== undefined) return refusal;
      return browser.act('browser_scroll', page, async () => {
        const where = ref === undefined ? page : await browser.reader.element(ref);
        return { position: await scroll(browser.supervisor, where, direction, pixels) };
      });
    },
  });
