// Tries a browser for real, one step after the other, and says what worked and how long it took.

import { navigate, pageForNavigation } from '../browser/navigation.ts';
import type { Browsers } from '../browser/supervisors.ts';
import type { TaskBrowser } from '../browser/task-browser.ts';
import { messageOf, SvcError } from '../core/errors.ts';

export interface BrowserCheck {
  name: string;
  ok: boolean;
  ms: number;
  detail: string;
  help?: string;
}

const TASK = { taskId: 'doctor', trust: 'person' } as const;
const PAGE = 'data:text/html,<title>doctor</title><h1>A page</h1><button>Press</button>';

/** Stops at the first step that fails. Whatever it started is ended again. Never throws. */
export async function examineBrowser(browsers: Browsers): Promise<BrowserCheck[]> {
  const checks: BrowserCheck[] = [];
  const step = async (name: string, work: () => Promise<string>): Promise<void> => {
    const begun = performance.now();
    try {
      const detail = await work();
      checks.push({ name, ok: true, ms: Math.round(performance.now() - begun), detail });
    } catch (error) {
      const help = error instanceof SvcError && error.help !== undefined ? { help: error.help } : {};
      checks.push({ name, ok: false, ms: Math.round(performance.now() - begun), detail: messageOf(error), ...help });
      throw error;
    }
  };
  try {
    await examine(browsers, step);
  } catch {
    // The failed step is in the list.
  } finally {
    await browsers.end(TASK.taskId);
  }
  return checks;
}

async function examine(browsers: Browsers, step: (name: string, work: () => Promise<string>) => Promise<void>) {
  let browser: TaskBrowser | undefined;
  await step('browser', async () => {
    const started = await browsers.start(TASK);
    if (started.kind === 'rest') return 'a backend with REST only: no dialogs, no frames';
    await started.supervisor.ready();
    browser = started;
    return (await started.supervisor.call('Browser.getVersion')).product;
  });
  const ready = browser;
  if (ready === undefined) return;
  const page = await pageForNavigation(ready, AbortSignal.timeout(10_000));
  await step('open a page', async () => String((await navigate(ready, page, PAGE)).title));
  await step('read its text', async () => {
    const { text } = await ready.reader.read(page);
    if (!text.includes('Press')) throw new Error('The text of the page is missing.');
    return `${text.length} characters`;
  });
  await step('answer a dialog', async () => {
    const params = { expression: 'confirm("doctor")', returnByValue: true, userGesture: true };
    const asked = await ready.act('doctor', page, async () => {
      const { result } = await ready.supervisor.call('Runtime.evaluate', params, { sessionId: page.sessionId });
      return { value: result.value };
    });
    if (!('interrupted' in asked)) return 'closed at once by dialog_policy or the backend';
    const answered = await ready.answerDialog('accept');
    if (!answered.success) throw new Error(JSON.stringify(answered));
    return 'confirm() was accepted';
  });
}
