// The scenarios of browser supervision: what happens on a page, and what the supervisor must know at each mark. Every one
// runs live, and again from the recording of a live run.

import assert from 'node:assert/strict';
import type { SupervisorFields } from '../../src/browser/snapshot.ts';
import type { BrowserState } from '../../src/browser/state.ts';
import type { ConfigInput } from '../../src/config/schema.ts';
import type { Stage } from './browser-stage.ts';
import type { Pages } from './sites.ts';

export type Check = (fields: SupervisorFields, state: BrowserState) => void;

export interface Scenario {
  /** The name of its recording. */
  name: string;
  rule: string;
  config?: NonNullable<ConfigInput['browser']>;
  hosted?: boolean;
  /** `mark` waits until the check of that name holds. */
  run(stage: Stage, mark: (name: string) => Promise<void>): Promise<void>;
  checks: Record<string, Check>;
}

export const scenarioPages: Pages = (site, url) => {
  const at = (other: string, path: string) => `http://${other}.test:${url.port}${path}`;
  switch (url.pathname) {
    case '/ask':
      return {
        body: `<title>ask</title><p id=out>nothing yet</p>
          <button onclick="show(alert('hello'))">alert</button>
          <button onclick="show(confirm('sure?'))">confirm</button>
          <button onclick="show(prompt('name?', 'nobody'))">prompt</button>
          <button onclick="window.addEventListener('beforeunload', (e) => e.preventDefault())">guard</button>
          <script>const show = (value) => { document.querySelector('#out').textContent = 'answer: ' + JSON.stringify(value ?? null); };</script>`,
      };
    case '/nest':
      return {
        body: `<title>nest</title><h1>Top</h1><iframe title=near src="${at('b', '/mid')}"></iframe><iframe title=own src="/leaf"></iframe>`,
      };
    case '/mid':
      return { body: `<p>middle</p><iframe title=far src="${at('c', '/leaf')}"></iframe>` };
    case '/leaf':
      return {
        body: `<p>leaf of ${site}</p><button onclick="this.textContent = String(confirm('from ${site}'))">ask</button>`,
      };
    case '/two':
      return {
        body: `<title>two</title><iframe src="${at('b', '/leaf')}"></iframe><iframe src="${at('c', '/leaf')}"></iframe>`,
      };
    case '/opener':
      return { body: `<title>opener</title><button onclick="window.open('${at('b', '/shout')}')">open</button>` };
    case '/shout':
      return { body: `<title>shout</title><script>alert('first words');</script><p>shouted</p>` };
    case '/errors':
      return {
        body: `<title>errors</title><script>console.log('plain'); console.error('bad', 7); setTimeout(() => { throw new Error('thrown'); });</script><img src="/missing.png">`,
      };
    case '/other':
      return { body: '<title>other</title><p>elsewhere</p>' };
    default:
      return undefined;
  }
};

const last = (fields: SupervisorFields) => fields.recent_dialogs.at(-1);

function closedAs(type: string, message: string, closedBy: string): Check {
  return (fields) => {
    assert.deepEqual(fields.pending_dialogs, []);
    const dialog = last(fields);
    assert.deepEqual([dialog?.type, dialog?.message, dialog?.closed_by], [type, message, closedBy]);
    assert.ok((dialog?.closed_at ?? 0) >= (dialog?.opened_at ?? Number.POSITIVE_INFINITY));
  };
}

function isPending(type: string, message: string): Check {
  return (fields) => {
    assert.equal(fields.pending_dialogs.length, 1);
    const [dialog] = fields.pending_dialogs;
    assert.deepEqual(Object.keys(dialog ?? {}), ['id', 'type', 'message', 'opened_at']);
    assert.deepEqual([dialog?.type, dialog?.message], [type, message]);
  };
}

/** Sites and depth of the frames, in order. */
const framesAre =
  (...expected: [site: string, isOopif: boolean][]): Check =>
  (fields) => {
    const children = fields.frame_tree?.children ?? [];
    assert.deepEqual(
      children.map((child) => [new URL(child.url).hostname, child.is_oopif]).sort(),
      expected.map(([site, isOopif]) => [`${site}.test`, isOopif]).sort(),
    );
    for (const child of children) assert.equal('session_id' in child, child.is_oopif);
    assert.equal(fields.frame_tree?.truncated, false);
  };

async function shows(stage: Stage, text: string): Promise<void> {
  const result = await stage.call('wait', { text, timeout_s: 5 });
  assert.equal(result.success, true, `the page never showed ${text}`);
}

export const scenarios: readonly Scenario[] = [
  {
    name: 'confirm-accepted',
    rule: 'a dialog is pending until the agent accepts it, and the page gets true',
    async run(stage, mark) {
      await stage.open('a', '/ask');
      const clicked = await stage.clickOn('button "confirm"');
      assert.equal(clicked.interrupted, 'dialog');
      await mark('pending');
      const answered = await stage.call('dialog', { action: 'accept' });
      assert.equal(answered.action, 'accept');
      assert.deepEqual((answered.interrupted_call as { tool: string }).tool, 'browser_click');
      await mark('closed');
      await shows(stage, 'answer: true');
    },
    checks: { pending: isPending('confirm', 'sure?'), closed: closedAs('confirm', 'sure?', 'agent') },
  },
  {
    name: 'confirm-dismissed',
    rule: 'a dismissed dialog gives the page false and is closed by the agent',
    async run(stage, mark) {
      await stage.open('a', '/ask');
      await stage.clickOn('button "confirm"');
      await stage.call('dialog', { action: 'dismiss' });
      await mark('closed');
      await shows(stage, 'answer: false');
    },
    checks: { closed: closedAs('confirm', 'sure?', 'agent') },
  },
  {
    name: 'prompts',
    rule: 'a prompt returns the given text, its own default without one, and null when dismissed',
    async run(stage, mark) {
      await stage.open('a', '/ask');
      await stage.clickOn('button "prompt"');
      await mark('pending');
      await stage.call('dialog', { action: 'accept', prompt_text: 'Ada\n"L" 🦊' });
      await shows(stage, 'answer: "Ada\\n\\"L\\" 🦊"');
      await stage.clickOn('button "prompt"');
      await stage.call('dialog', { action: 'accept' });
      await shows(stage, 'answer: "nobody"');
      await stage.clickOn('button "prompt"');
      await stage.call('dialog', { action: 'dismiss' });
      await shows(stage, 'answer: null');
      await mark('three');
    },
    checks: {
      pending: isPending('prompt', 'name?'),
      three: (fields) =>
        assert.deepEqual(
          fields.recent_dialogs.map((one) => one.closed_by),
          ['agent', 'agent', 'agent'],
        ),
    },
  },
  {
    name: 'auto-dismiss',
    rule: 'auto_dismiss closes at once and the dialog is seen afterwards',
    config: { dialog_policy: 'auto_dismiss' },
    async run(stage, mark) {
      await stage.open('a', '/ask');
      const clicked = await stage.clickOn('button "confirm"');
      assert.equal(clicked.interrupted, undefined);
      await mark('closed');
      await shows(stage, 'answer: false');
    },
    checks: { closed: closedAs('confirm', 'sure?', 'auto_policy') },
  },
  {
    name: 'auto-accept',
    rule: 'auto_accept lets a page go that asks before leaving',
    config: { dialog_policy: 'auto_accept' },
    async run(stage, mark) {
      await stage.open('a', '/ask');
      await stage.clickOn('button "guard"');
      const left = await stage.open('a', '/other');
      assert.equal(left.title, 'other');
      await mark('closed');
    },
    checks: { closed: closedAs('beforeunload', '', 'auto_policy') },
  },
  {
    name: 'watchdog',
    rule: 'a dialog that nobody answers is dismissed after dialog_timeout_s',
    config: { dialog_timeout_s: 0.5 },
    async run(stage, mark) {
      await stage.open('a', '/ask');
      await stage.clickOn('button "confirm"');
      await mark('pending');
      await mark('closed');
      await shows(stage, 'answer: false');
    },
    checks: { pending: isPending('confirm', 'sure?'), closed: closedAs('confirm', 'sure?', 'watchdog') },
  },
  {
    name: 'remote-close',
    rule: 'a dialog that another client closes is remote',
    async run(stage, mark) {
      await stage.open('a', '/ask');
      await stage.secondClient(true);
      await (await stage.script("setTimeout(() => show(confirm('sure?')))")).value;
      await mark('closed');
      await shows(stage, 'answer: false');
    },
    checks: { closed: closedAs('confirm', 'sure?', 'remote') },
  },
  {
    name: 'beforeunload-stays',
    rule: 'a dismissed beforeunload keeps the page, and the interrupted navigation says so',
    async run(stage, mark) {
      await stage.open('a', '/ask');
      await stage.clickOn('button "guard"');
      const interrupted = await stage.open('a', '/other');
      assert.equal(interrupted.interrupted, 'dialog');
      await mark('pending');
      const answered = await stage.call('dialog', { action: 'dismiss' });
      const finished = answered.interrupted_call as { tool: string; result: { navigated: boolean; title: string } };
      assert.equal(finished.tool, 'browser_navigate');
      assert.deepEqual([finished.result.navigated, finished.result.title], [false, 'ask']);
      await mark('closed');
    },
    checks: { pending: isPending('beforeunload', ''), closed: closedAs('beforeunload', '', 'agent') },
  },
  {
    name: 'frames',
    rule: 'frames of three sites are known with their sessions, vanish with their page and come back with it',
    async run(stage, mark) {
      await stage.open('a', '/nest');
      await mark('nested');
      await stage.open('d', '/other');
      await mark('left');
      await stage.call('back');
      await mark('back');
      const { value } = await stage.script('document.body.innerText', stage.url('c').replace(/\/$/, ''));
      assert.match(String(await value), /leaf of c/);
    },
    checks: {
      nested: framesAre(['b', true], ['c', true], ['a', false]),
      left: framesAre(),
      back: framesAre(['b', true], ['c', true], ['a', false]),
    },
  },
  {
    name: 'overlap-bridged',
    rule: 'two dialogs at once in frames of two sites are both pending and both answered',
    async run(stage, mark) {
      await stage.open('a', '/two');
      await mark('loaded');
      const b = await stage.script("confirm('from b')", stage.url('b').replace(/\/$/, ''));
      const c = await stage.script("confirm('from c')", stage.url('c').replace(/\/$/, ''));
      await mark('both');
      const ambiguous = await stage.call('dialog', { action: 'accept' });
      assert.equal(ambiguous.success === false && ambiguous.error.code, 'dialog_ambiguous');
      await stage.call('dialog', { action: 'accept', dialog_id: 'd-2' });
      await stage.call('dialog', { action: 'accept', dialog_id: 'd-1' });
      assert.deepEqual([await b.value, await c.value], [true, true]);
      await mark('answered');
    },
    checks: {
      loaded: framesAre(['b', true], ['c', true]),
      both: (fields) => assert.deepEqual(fields.pending_dialogs.map((one) => one.message).sort(), ['from b', 'from c']),
      answered: (fields) =>
        assert.deepEqual(
          fields.recent_dialogs.map((one) => [one.id, one.closed_by]),
          [
            ['d-2', 'agent'],
            ['d-1', 'agent'],
          ],
        ),
    },
  },
  {
    name: 'overlap-native',
    rule: 'without the bridge the browser loses one of two dialogs, and answering the lost one reloads the page',
    config: { dialog_bridge: 'never' },
    async run(stage, mark) {
      await stage.open('a', '/two');
      await mark('loaded');
      await stage.script("confirm('from b')", stage.url('b').replace(/\/$/, ''));
      await stage.until('the first dialog', (state) => state.pendingDialogs.length === 1);
      await stage.script("confirm('from c')", stage.url('c').replace(/\/$/, ''));
      await mark('lost');
      const answered = await stage.call('dialog', { action: 'accept' });
      assert.match(String(answered.note), /reloaded/);
      await mark('recovered');
      await shows(stage, 'leaf of b');
    },
    checks: {
      loaded: framesAre(['b', true], ['c', true]),
      lost: (fields, state) => {
        assert.deepEqual(
          fields.recent_dialogs.map((one) => [one.message, one.closed_by]),
          [['from b', 'remote']],
        );
        assert.equal(state.pendingDialogs[0]?.unanswerable, true);
      },
      recovered: (fields, state) => {
        assert.deepEqual(fields.pending_dialogs, []);
        framesAre(['b', true], ['c', true])(fields, state);
      },
    },
  },
  {
    name: 'hosted',
    rule: 'on a hosted browser dialogs stand in recent_dialogs as remote and are still answered through the bridge',
    hosted: true,
    async run(stage, mark) {
      await stage.secondClient(true);
      await stage.open('a', '/ask');
      const clicked = await stage.clickOn('button "prompt"');
      assert.equal(clicked.interrupted, 'dialog');
      await mark('held');
      await stage.call('dialog', { action: 'accept', prompt_text: 'Ada' });
      await mark('answered');
      await shows(stage, 'answer: "Ada"');
      await stage.clickOn('button "guard"');
      await stage.open('a', '/other');
      await mark('native');
    },
    checks: {
      held: (fields) => {
        assert.deepEqual(fields.pending_dialogs, []);
        const held = last(fields);
        assert.deepEqual([held?.type, held?.closed_by, held?.awaiting_answer], ['prompt', 'remote', true]);
      },
      answered: (fields) => {
        assert.deepEqual(fields.pending_dialogs, []);
        assert.deepEqual(
          [last(fields)?.type, last(fields)?.closed_by, last(fields)?.awaiting_answer],
          ['prompt', 'remote', undefined],
        );
      },
      native: closedAs('beforeunload', '', 'remote'),
    },
  },
  {
    name: 'popup',
    rule: 'the first dialog of a popup is seen and answered',
    async run(stage, mark) {
      await stage.open('a', '/opener');
      const clicked = await stage.clickOn('button "open"');
      await mark('shouting');
      const answered = await stage.call('dialog', { action: 'accept' });
      // The dialog of the popup may come while the click still waits for what it set off, or just after.
      const finished = (answered.interrupted_call as { finished: boolean } | undefined)?.finished;
      assert.equal(finished, clicked.interrupted === 'dialog' ? true : undefined);
      await mark('quiet');
      const tabs = (await stage.call('tabs', { action: 'list' })).tabs as { target_id: string; title: string }[];
      const popup = tabs.find((tab) => tab.title === 'shout');
      await stage.call('tabs', { action: 'switch', target_id: popup?.target_id ?? '' });
      await shows(stage, 'shouted');
    },
    checks: {
      shouting: (fields, state) => {
        isPending('alert', 'first words')(fields, state);
        assert.equal(state.pages.size, 2);
      },
      quiet: closedAs('alert', 'first words', 'agent'),
    },
  },
  {
    name: 'console',
    rule: 'errors of the console, thrown errors and failed requests are kept; plain lines are not among them',
    async run(stage, mark) {
      await stage.open('a', '/errors');
      await mark('errors');
    },
    checks: {
      errors: (fields) => {
        const texts = fields.console_errors.map(({ text }) => text).join('\n');
        assert.match(texts, /bad 7/);
        assert.match(texts, /Error: thrown/);
        assert.match(texts, /404/);
        assert.doesNotMatch(texts, /plain/);
      },
    },
  },
  {
    name: 'crash',
    rule: 'a crashed page is told, its dialog is over, and a navigation revives it',
    async run(stage, mark) {
      await stage.open('a', '/ask');
      const { supervisor } = await stage.browser();
      const page = await (await stage.browser()).page();
      supervisor.call('Page.crash', undefined, { sessionId: page.sessionId }).catch(() => {});
      await mark('crashed');
      const failed = await stage.call('cdp', { method: 'Runtime.evaluate', params: { expression: '1' }, timeout_s: 1 });
      assert.equal(failed.success, false);
      await stage.open('a', '/other');
      await mark('revived');
    },
    checks: {
      crashed: (_fields, state) => assert.equal([...state.pages.values()][0]?.crashed, true),
      revived: (_fields, state) => assert.equal([...state.pages.values()][0]?.crashed, false),
    },
  },
];
