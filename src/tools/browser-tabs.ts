// browser_tabs: which tabs are open, and which one the task works in.

import { z } from 'zod';
import {
  checkAddress,
  closeTab,
  findTab,
  listTabs,
  navigate,
  openTab,
  readAddress,
  selectTab,
} from '../browser/navigation.ts';
import type { Browsers } from '../browser/supervisors.ts';
import { failure } from '../browser/task-browser.ts';
import { browserTool } from './browser-tool.ts';

export const createBrowserTabs = (browsers: Browsers) =>
  browserTool(browsers, {
    name: 'browser_tabs',
    description:
      'Lists the open tabs and popups, opens a new one, switches to one or closes one. Other tools act on the current tab.',
    input: z.object({
      action: z.enum(['list', 'new', 'switch', 'close']).describe('What to do.'),
      target_id: z.string().min(1).optional().describe('The tab to switch to or close, from the list.'),
      url: z.string().min(1).optional().describe('Address for a new tab.'),
    }),
    async cdp(browser, { action, target_id, url }, { signal }) {
      await browser.supervisor.ready(signal);
      if (action === 'new') {
        const address = url === undefined ? undefined : readAddress(url);
        if (address !== undefined) await checkAddress(browser.reach, address);
        const page = await openTab(browser, 'about:blank');
        if (address !== undefined) {
          const result = await browser.act('browser_tabs', page, () => navigate(browser, page, address));
          return { ...result, tabs: await listTabs(browser) };
        }
      } else if (action !== 'list') {
        if (target_id === undefined) {
          return failure(
            'invalid_input',
            'target_id is missing.',
            'List the open tabs with browser_tabs and name one.',
          );
        }
        const page = findTab(browser, target_id);
        await (action === 'switch' ? selectTab(browser, page) : closeTab(browser, page));
      }
      return { success: true, tabs: await listTabs(browser) };
    },
  });
