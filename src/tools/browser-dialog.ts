// browser_dialog: answers a dialog of a page. It only answers; open dialogs are read from browser_snapshot.

import { z } from 'zod';
import type { Browsers } from '../browser/supervisors.ts';
import { browserTool } from './browser-tool.ts';

export const createBrowserDialog = (browsers: Browsers) =>
  browserTool(browsers, {
    name: 'browser_dialog',
    description:
      'Answers a JavaScript dialog (alert, confirm, prompt, beforeunload) that a page has open: see pending_dialogs of ' +
      'browser_snapshot, or an entry of recent_dialogs with awaiting_answer. Brings the result of the call that the dialog interrupted.',
    input: z.object({
      // Other words get an answer with a code, like every other mistake here.
      action: z.union([z.enum(['accept', 'dismiss']), z.string()]).describe('`accept` or `dismiss`.'),
      prompt_text: z
        .string()
        .max(1_000_000)
        .optional()
        .describe("Text for a prompt(); without it the page's own default is used."),
      dialog_id: z.string().min(1).optional().describe('Which dialog, when several are open, e.g. d-2.'),
    }),
    cdp: (browser, { action, prompt_text, dialog_id }) => browser.answerDialog(action, prompt_text, dialog_id),
  });
