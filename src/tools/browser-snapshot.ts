// browser_snapshot: the page as text with refs, and what the supervisor knows. Never hangs: what is blocked is said so.

import { z } from 'zod';
import { whereabouts } from '../browser/navigation.ts';
import { supervisorFields } from '../browser/snapshot.ts';
import type { Browsers } from '../browser/supervisors.ts';
import { cutText } from '../core/json.ts';
import { browserTool } from './browser-tool.ts';

const DEFAULT_CHARS = 20_000;

export const createBrowserSnapshot = (browsers: Browsers) =>
  browserTool(browsers, {
    name: 'browser_snapshot',
    description:
      'Reads the current page as text. Elements that can be used carry a ref like [f1e5] for browser_click, browser_type and ' +
      'others; cross-origin frames stand at their place. Also lists pending_dialogs (answer them with browser_dialog), ' +
      'recent_dialogs, frame_tree and console_errors.',
    input: z.object({
      max_chars: z.int().min(100).max(100_000).optional().describe(`Longest text; default ${DEFAULT_CHARS}.`),
      from_char: z.int().min(0).optional().describe('Skips the beginning of a long page, as told by `next_from_char`.'),
    }),
    rest: (browser) => browser.snapshot(),
    async cdp(browser, { max_chars = DEFAULT_CHARS, from_char = 0 }, { signal }) {
      const page = await browser.page(signal);
      const [place, read] = await Promise.all([whereabouts(browser, page.id), browser.reader.read(page)]);
      browser.requireWeb(page.id);
      const now = browser.state.pages.get(page.id);
      const part = cutText(read.text.slice(from_char), max_chars);
      const silent = now?.answers.kind === 'no' && browser.state.pendingDialogs.length === 0;
      return {
        success: true,
        ...place,
        snapshot: part.text,
        ...(part.cut ? { next_from_char: from_char + part.text.length } : {}),
        ...(read.truncated ? { snapshot_truncated: true } : {}),
        ...(now?.crashed ? { page_crashed: true, help: 'Reload the page with browser_navigate.' } : {}),
        ...(silent ? { page_blocked: 'unknown', help: BLOCKED_HELP } : {}),
        ...supervisorFields(browser.state),
      };
    },
  });

const BLOCKED_HELP =
  'The page does not answer: it is busy, or a dialog opened before the browser was connected. Wait, or reload it with browser_navigate.';
