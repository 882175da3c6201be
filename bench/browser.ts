// The browser side by side with puppeteer-core and playwright-core on one Chromium, one client connected at a time, in
// rotating rounds. Figures of one run are compared with each other only.

import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium, type Page as PlaywrightPage } from 'playwright-core';
import puppeteer, { type Browser as Puppeteer, type Page as PuppeteerPage } from 'puppeteer-core';
import { supervisorFields } from '../src/browser/snapshot.ts';
import { openTheatre, Stage, type Theatre } from '../test/support/browser-stage.ts';
import type { Pages } from '../test/support/sites.ts';
import { atMost, median, type Result } from './report.ts';

const ROUNDS = 6;
const EVALUATIONS = 400;
const WARM_UP = 300;
const CONFIRMS = 50;
const INTERRUPTIONS = 30;
const FRAMES = 200;
const TABS = 11;

const pages: Pages = (site, url) => {
  const at = (other: string) => `http://${other}.test:${url.port}/leaf`;
  switch (url.pathname) {
    case '/frame':
      return { body: `<title>frame</title><iframe src="${at('b')}"></iframe>` };
    case '/frames':
      return {
        body: `<title>frames</title>${`<iframe></iframe>`.repeat(FRAMES - 4)}${['b', 'c', 'd', 'e'].map((other) => `<iframe src="${at(other)}"></iframe>`).join('')}`,
      };
    case '/large': {
      const section = (n: number) =>
        `<section><h2>Part ${n}</h2><p>Some text of part ${n}.</p><a href="/x${n}">link ${n}</a><button>press ${n}</button></section>`;
      return { body: `<title>large</title>${Array.from({ length: 1250 }, (_, n) => section(n)).join('')}` };
    }
    default:
      return {
        body: `<title>${site}</title><button onclick="window.opened = performance.timeOrigin + performance.now(); confirm('sure?')">ask</button>`,
      };
  }
};

export async function run(): Promise<Result[]> {
  const theatre = await openTheatre(pages);
  try {
    return [
      await evaluateInFrame(theatre),
      await attachToFrames(theatre),
      await readLargePage(theatre),
      await confirmCycle(theatre),
      await interruption(theatre),
      await stateRead(theatre),
      await memory(theatre),
    ];
  } finally {
    await theatre.close();
  }
}

async function evaluateInFrame(theatre: Theatre): Promise<Result> {
  await show(theatre, '/frame');
  const ours: number[] = [];
  const tool: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const stage = new Stage(theatre);
    const state = await stage.until('the frame', ({ pages: tabs }) =>
      [...tabs.values()].some((page) =>
        [...page.frames.values()].some((frame) => frame.isOopif && frame.loaderId !== ''),
      ),
    );
    const frame = [...state.pages.values()].flatMap((page) => [...page.frames.values()]).find((one) => one.isOopif);
    const { supervisor } = await stage.browser();
    const params = { expression: '1', returnByValue: true };
    const input = { method: 'Runtime.evaluate', params, frame_id: frame?.id ?? '' };
    // The layer that puppeteer offers, and the whole tool with its checks, routing and cleaned result.
    const evaluate = () => supervisor.call('Runtime.evaluate', params, { sessionId: frame?.sessionId });
    await times(WARM_UP, evaluate);
    ours.push(...(await times(EVALUATIONS, evaluate)));
    await times(WARM_UP, () => stage.call('cdp', input));
    tool.push(...(await times(EVALUATIONS, () => stage.call('cdp', input))));
    await stage.browsers.stop();
    await withPuppeteer(theatre, async (page) => {
      const found = await page.waitForFrame((one) => one.url().includes('//b.test'));
      await times(WARM_UP, () => found.evaluate(() => 1));
      theirs.push(...(await times(EVALUATIONS, () => found.evaluate(() => 1))));
    });
  }
  const [mine, other] = [median(ours), median(theirs)];
  return atMost(0.5, {
    name: 'Evaluate in a cross-origin frame, p50, against puppeteer',
    value: mine / other,
    detail: `${mine.toFixed(2)} ms against ${other.toFixed(2)} ms; as a whole call of browser_cdp ${median(tool).toFixed(2)} ms`,
  });
}

async function attachToFrames(theatre: Theatre): Promise<Result> {
  await show(theatre, '/frames');
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const stage = new Stage(theatre);
    ours.push(
      ...(await times(1, () =>
        stage.until('all frames', ({ pages: tabs }) =>
          [...tabs.values()].some((page) => page.frames.size === FRAMES + 1),
        ),
      )),
    );
    await stage.browsers.stop();
    let client: Puppeteer | undefined;
    theirs.push(
      ...(await times(1, async () => {
        client = await connectPuppeteer(theatre);
        const [page] = await client.pages();
        while ((page?.frames().length ?? 0) < FRAMES + 1) await new Promise((resolve) => setTimeout(resolve, 1));
      })),
    );
    await client?.disconnect();
  }
  const [mine, other] = [median(ours), median(theirs)];
  return atMost(0.2, {
    name: `Attach and know ${FRAMES} frames, against puppeteer`,
    value: mine / other,
    detail: `${mine.toFixed(0)} ms against ${other.toFixed(0)} ms`,
  });
}

async function readLargePage(theatre: Theatre): Promise<Result> {
  await show(theatre, '/large');
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const stage = new Stage(theatre);
    ours.push(
      ...(await times(3, async () => {
        const { snapshot } = await stage.call('snapshot', { max_chars: 100_000 });
        if (!String(snapshot).includes('press 100')) throw new Error('the snapshot is not complete');
      })),
    );
    await stage.browsers.stop();
    await withPlaywright(theatre, async (page) => {
      theirs.push(...(await times(3, () => page.locator('body').ariaSnapshot())));
    });
  }
  const [mine, other] = [median(ours), median(theirs)];
  return atMost(0.35, {
    name: 'Text of a page with 5,000 elements, against the aria snapshot of playwright',
    value: mine / other,
    detail: `${mine.toFixed(0)} ms against ${other.toFixed(0)} ms`,
  });
}

async function confirmCycle(theatre: Theatre): Promise<Result> {
  await show(theatre, '/leaf');
  const expression =
    "(() => { const begun = performance.now(); confirm('sure?'); return performance.now() - begun; })()";
  const ours: number[] = [];
  const theirs: number[] = [];
  const measureOurs = async () => {
    const stage = new Stage(theatre, { config: { dialog_policy: 'auto_accept' } });
    await stage.until('the tab', ({ pages: tabs }) => tabs.size > 0);
    for (let count = 0; count < CONFIRMS; count++) ours.push(Number(await (await stage.script(expression)).value));
    await stage.browsers.stop();
  };
  const measureTheirs = () =>
    withPuppeteer(theatre, async (page) => {
      page.on('dialog', (dialog) => void dialog.accept());
      for (let count = 0; count < CONFIRMS; count++) theirs.push(Number(await page.evaluate(expression)));
    });
  for (let round = 0; round < ROUNDS; round++) {
    // The difference is small, so neither may always be the one that comes first.
    for (const measure of round % 2 === 0 ? [measureOurs, measureTheirs] : [measureTheirs, measureOurs])
      await measure();
  }
  const [mine, other] = [median(ours), median(theirs)];
  return atMost(1, {
    name: 'A confirm() that is accepted by policy, p50, against puppeteer',
    value: mine / other,
    detail: `${mine.toFixed(1)} ms against ${other.toFixed(1)} ms, measured in the page`,
  });
}

async function interruption(theatre: Theatre): Promise<Result> {
  await show(theatre, '/leaf');
  const stage = new Stage(theatre);
  const delays: number[] = [];
  const ref = await stage.refOf('button "ask"');
  for (let count = 0; count < INTERRUPTIONS; count++) {
    const result = await stage.call('click', { ref });
    const returned = performance.timeOrigin + performance.now();
    if (result.interrupted !== 'dialog') throw new Error(`no dialog: ${JSON.stringify(result)}`);
    await stage.call('dialog', { action: 'accept' });
    delays.push(returned - Number(await (await stage.script('window.opened')).value));
  }
  await stage.browsers.stop();
  const p95 = delays.toSorted((a, b) => a - b)[Math.floor(delays.length * 0.95)] ?? 0;
  return atMost(50, {
    name: 'A click interrupted by a dialog returns after, p95',
    value: p95,
    unit: ' ms',
    detail: `p50 ${median(delays).toFixed(1)} ms of ${delays.length}, from just before confirm() in the page`,
  });
}

async function stateRead(theatre: Theatre): Promise<Result> {
  await show(theatre, '/frames');
  const stage = new Stage(theatre);
  await stage.until('all frames', ({ pages: tabs }) =>
    [...tabs.values()].some((page) => page.frames.size === FRAMES + 1),
  );
  const { supervisor } = await stage.browser();
  const read = await times(2000, async () => supervisorFields(supervisor.state));
  await stage.browsers.stop();
  return atMost(0.2, {
    name: `Reading the state of a page with ${FRAMES} frames, p50`,
    value: median(read),
    unit: ' ms',
    detail: 'dialogs, frame tree and console errors in their public shape',
  });
}

async function memory(theatre: Theatre): Promise<Result> {
  const client = await connectPuppeteer(theatre);
  while ((await client.pages()).length < TABS) await client.newPage();
  for (const page of await client.pages()) await page.goto(theatre.sites.url('a', '/leaf'));
  await client.disconnect();
  const grown = async (script: string) => {
    const sizes: number[] = [];
    for (let round = 0; round < 3; round++) sizes.push(await residentSize(script, theatre.address));
    return median(sizes);
  };
  // The launcher keeps compiled code between runs, so that no compiler sits in memory; a first run fills that cache.
  const cache = await mkdtemp(join(tmpdir(), 'svc-bench-'));
  process.env.NODE_COMPILE_CACHE = cache;
  for (const script of [OURS, PUPPETEER]) await residentSize(script, theatre.address);
  const bare = await grown('');
  const ours = (await grown(OURS)) - bare;
  const theirs = (await grown(PUPPETEER)) - bare;
  await rm(cache, { recursive: true, force: true });
  return atMost(0.6, {
    name: `Memory for ${TABS} attached tabs, against puppeteer`,
    value: ours / theirs,
    detail: `+${ours.toFixed(0)} MB against +${theirs.toFixed(0)} MB over a bare Node of ${bare.toFixed(0)} MB`,
  });
}

const here = import.meta.dirname;
const OURS = `
  const { Supervisor } = await import('${here}/../src/browser/supervisor.ts');
  const { silentLog } = await import('${here}/../src/core/log.ts');
  const settings = { backend: 'local', policy: 'must_respond', watchdogMs: 300000, bridge: 'auto', bypassCsp: false, guardPrivate: false };
  const endpoint = { address: async () => process.argv[1], close: async () => {} };
  const supervisor = new Supervisor({ settings, endpoint, clock: Date, log: silentLog, lookUp: async () => [] });
  await supervisor.ready();
  await supervisor.until((state) => state.pages.size === ${TABS} && [...state.pages.values()].every((page) => page.answers.kind === 'yes'), 20000);`;
const PUPPETEER = `
  const { default: puppeteer } = await import('puppeteer-core');
  const browser = await puppeteer.connect({ browserWSEndpoint: process.argv[1], defaultViewport: null });
  for (const page of await browser.pages()) await page.title();`;

/** Megabytes of a fresh process after the script, which gets the address of the browser. */
async function residentSize(script: string, address: string): Promise<number> {
  const code = `${script}
    await new Promise((resolve) => setTimeout(resolve, 300));
    console.log(process.memoryUsage.rss() / 1048576);
    process.exit(0);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code, address], {
    cwd: here,
  });
  return Number(stdout);
}

/** Opens the page in the only tab, with nobody connected afterwards. */
async function show(theatre: Theatre, path: string): Promise<void> {
  const stage = new Stage(theatre);
  await stage.open('a', path);
  await stage.until(
    'the page',
    ({ pages: tabs }) => [...tabs.values()].every((page) => page.loading === 'done'),
    60_000,
  );
  await stage.browsers.stop();
}

async function withPuppeteer(theatre: Theatre, use: (page: PuppeteerPage) => Promise<void>): Promise<void> {
  const client = await connectPuppeteer(theatre);
  const [page] = await client.pages();
  if (page !== undefined) await use(page);
  await client.disconnect();
}

const connectPuppeteer = (theatre: Theatre): Promise<Puppeteer> =>
  puppeteer.connect({ browserWSEndpoint: theatre.address, defaultViewport: null });

async function withPlaywright(theatre: Theatre, use: (page: PlaywrightPage) => Promise<void>): Promise<void> {
  const client = await chromium.connectOverCDP(theatre.address);
  const page = client.contexts()[0]?.pages()[0];
  if (page !== undefined) await use(page);
  await client.close();
}

async function times(count: number, work: () => Promise<unknown>): Promise<number[]> {
  const taken: number[] = [];
  for (let index = 0; index < count; index++) {
    const begun = performance.now();
    await work();
    taken.push(performance.now() - begun);
  }
  return taken;
}
