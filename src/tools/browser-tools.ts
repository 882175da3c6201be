// The browser toolset, one line per tool.

import type { Browsers } from '../browser/supervisors.ts';
import { createBrowserBack } from './browser-back.ts';
import { createBrowserCdp } from './browser-cdp.ts';
import { createBrowserClick } from './browser-click.ts';
import { createBrowserConsole } from './browser-console.ts';
import { createBrowserDialog } from './browser-dialog.ts';
import { createBrowserNavigate } from './browser-navigate.ts';
import { createBrowserPress } from './browser-press.ts';
import { createBrowserScreenshot } from './browser-screenshot.ts';
import { createBrowserScroll } from './browser-scroll.ts';
import { createBrowserSelect } from './browser-select.ts';
import { createBrowserSnapshot } from './browser-snapshot.ts';
import { createBrowserTabs } from './browser-tabs.ts';
import type { BrowserTool } from './browser-tool.ts';
import { createBrowserType } from './browser-type.ts';
import { createBrowserWait } from './browser-wait.ts';

export const createBrowserTools = (browsers: Browsers): readonly BrowserTool[] => [
  createBrowserNavigate(browsers),
  createBrowserSnapshot(browsers),
  createBrowserClick(browsers),
  createBrowserType(browsers),
  createBrowserPress(browsers),
  createBrowserSelect(browsers),
  createBrowserScroll(browsers),
  createBrowserBack(browsers),
  createBrowserWait(browsers),
  createBrowserScreenshot(browsers),
  createBrowserTabs(browsers),
  createBrowserConsole(browsers),
  createBrowserDialog(browsers),
  createBrowserCdp(browsers),
];
