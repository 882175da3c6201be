// browser_screenshot: a picture of the window or of the whole page, stored as a file.

import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Page } from '../browser/state.ts';
import type { Browsers } from '../browser/supervisors.ts';
import type { TaskBrowser } from '../browser/task-browser.ts';
import { ensurePrivateDirectory } from '../system/files.ts';
import { browserTool } from './browser-tool.ts';

const SHOT_MS = 15_000;
// A picture of an endless page would take all memory of the browser.
const MAX_HEIGHT = 16_000;
/** Pictures of all tasks that are kept. */
const MAX_PICTURES = 200;

export const createBrowserScreenshot = (browsers: Browsers) =>
  browserTool(browsers, {
    name: 'browser_screenshot',
    description:
      'Takes a picture of the window, or of the whole page, and stores it as a PNG file whose path it returns.',
    input: z.object({ full_page: z.boolean().optional().describe('True for the whole page.') }),
    rest: async (browser, _input, { taskId }) => store(browsers.folder, taskId, await browser.screenshot()),
    async cdp(browser, { full_page = false }, { signal, taskId }) {
      const page = await browser.page(signal);
      const refusal = browser.blocked(page, page.sessionId);
      if (refusal !== undefined) return refusal;
      return browser.act('browser_screenshot', page, async () =>
        store(browsers.folder, taskId, await take(browser, page, full_page)),
      );
    },
  });

async function take({ supervisor }: TaskBrowser, { sessionId }: Page, fullPage: boolean): Promise<Buffer> {
  const options = { sessionId, deadlineMs: SHOT_MS };
  if (!fullPage) return decode(await supervisor.call('Page.captureScreenshot', { format: 'png' }, options));
  const { cssContentSize } = await supervisor.call('Page.getLayoutMetrics', undefined, options);
  const clip = { ...cssContentSize, height: Math.min(cssContentSize.height, MAX_HEIGHT), scale: 1 };
  return decode(
    await supervisor.call('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true, clip }, options),
  );
}

const decode = ({ data }: { data: string }): Buffer => Buffer.from(data, 'base64');

async function store(
  folder: string,
  taskId: string,
  picture: Buffer,
): Promise<{ success: true; path: string; bytes: number }> {
  const shots = join(folder, 'screenshots');
  await ensurePrivateDirectory(shots);
  await dropOldest(shots);
  const time = new Date().toISOString().replace(/[:.]/g, '-');
  const path = join(shots, `${taskId.replace(/[^\w-]/g, '_')}-${time}.png`);
  await writeFile(path, picture, { mode: 0o600 });
  return { success: true, path, bytes: picture.length };
}

async function dropOldest(folder: string): Promise<void> {
  const timeOf = (name: string) => /-(\d{4}-.*)\.png$/.exec(name)?.[1] ?? '';
  const names = (await readdir(folder)).toSorted((a, b) => timeOf(a).localeCompare(timeOf(b)));
  for (const name of names.slice(0, Math.max(0, names.length - MAX_PICTURES + 1)))
    await rm(join(folder, name), { force: true });
}
