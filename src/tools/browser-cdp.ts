// browser_cdp: any call of the debugging protocol, also into one cross-origin frame.

import { z } from 'zod';
import { routeCall, sendCall, wholeFrameTree } from '../browser/protocol-call.ts';
import type { Browsers } from '../browser/supervisors.ts';
import { fail } from '../browser/task-browser.ts';
import { browserTool } from './browser-tool.ts';

const DEFAULT_TIMEOUT_S = 30;
/** The call itself ends first and says more. */
const GRACE_MS = 2000;

export const createBrowserCdp = (browsers: Browsers) =>
  browserTool(browsers, {
    name: 'browser_cdp',
    description:
      'Sends a Chrome DevTools Protocol call. With frame_id (an is_oopif entry of frame_tree) it runs inside that cross-origin ' +
      'frame, e.g. Runtime.evaluate {"expression": "document.title", "returnByValue": true}. Without it, in the current tab; ' +
      'Page.getFrameTree then returns all frames. For cookies, viewport, network and what no other tool does.',
    input: z.object({
      method: z.string().min(1).max(200).describe('Domain.method'),
      params: z.record(z.string(), z.unknown()).optional().describe('Parameters of the method.'),
      frame_id: z.string().min(1).optional().describe('A cross-origin frame of frame_tree.children.'),
      target_id: z.string().min(1).optional().describe('A tab of browser_tabs; default the current one.'),
      timeout_s: z.number().positive().optional().describe(`Longest wait, 1 to 300; default ${DEFAULT_TIMEOUT_S}.`),
    }),
    async cdp(browser, { method, params = {}, frame_id, target_id, timeout_s = DEFAULT_TIMEOUT_S }, { signal }) {
      await browser.supervisor.ready(signal);
      const deadlineMs = Math.min(300, Math.max(1, timeout_s)) * 1000;
      const call = { method, params, frameId: frame_id, targetId: target_id, deadlineMs };
      if (method === 'Page.handleJavaScriptDialog') {
        const { accept, promptText } = params;
        return browser.answerDialog(
          accept === true ? 'accept' : 'dismiss',
          typeof promptText === 'string' ? promptText : undefined,
        );
      }
      // Where a new tab is becomes known with its set-up.
      const target = browser.state.pages.get(target_id ?? browser.state.currentPageId ?? '');
      if (target !== undefined) await browser.settled(target);
      const route = routeCall(browser, call);
      if (route.kind === 'refused') return route.result;
      const { page, sessionId } = route;
      const echo = { method, ...(frame_id === undefined ? {} : { frame_id, session_id: sessionId }) };
      if (page === undefined) {
        return sendCall(browser, call, sessionId).then((result) => ({ success: true, ...echo, result }), fail);
      }
      const work = async () => {
        const whole = method === 'Page.getFrameTree' && frame_id === undefined;
        return {
          ...echo,
          result: whole ? await wholeFrameTree(browser, page) : await sendCall(browser, call, sessionId),
        };
      };
      return browser.act('browser_cdp', page, work, deadlineMs + GRACE_MS);
    },
  });
