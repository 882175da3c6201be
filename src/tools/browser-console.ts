// browser_console: what pages wrote to their console.

import { z } from 'zod';
import { consoleToWire } from '../browser/snapshot.ts';
import type { Browsers } from '../browser/supervisors.ts';
import { browserTool } from './browser-tool.ts';

export const createBrowserConsole = (browsers: Browsers) =>
  browserTool(browsers, {
    name: 'browser_console',
    description: 'The last console messages of the pages: errors, warnings and plain lines, with failed requests.',
    input: z.object({ errors_only: z.boolean().optional().describe('True leaves out warnings and plain lines.') }),
    async cdp(browser, { errors_only = false }) {
      const entries = errors_only ? browser.state.consoleErrors : browser.state.consoleMessages;
      return { success: true, messages: entries.map((entry) => ({ level: entry.level, ...consoleToWire(entry) })) };
    },
  });
