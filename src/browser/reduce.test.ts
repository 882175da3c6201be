import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  answered,
  cdp,
  closed,
  connected,
  frameAdded,
  frameTargetAttached,
  logged,
  navigated,
  opened,
  pageAttached,
  play,
  playOn,
  sent,
  time,
} from '../../test/support/browser-events.ts';
import { BRIDGE_ORIGIN } from './bridge.ts';
import { readEvent } from './cdp/protocol.ts';
import { supervisorFields } from './snapshot.ts';

const start = [connected(), pageAttached()];
const paused = (type: string, message: string, sessionId = 'F', at = 0) =>
  cdp(
    'Fetch.requestPaused',
    {
      requestId: `r-${message}`,
      frameId: 'frame',
      request: { url: `${BRIDGE_ORIGIN}/?type=${type}&message=${message}&default=me` },
    },
    sessionId,
    at,
  );

test('a dialog under must_respond is pending with exactly the fields of the contract', () => {
  const { state } = play([...start, opened('confirm', {}, 1500)]);
  assert.deepEqual(supervisorFields(state).pending_dialogs, [
    { id: 'd-1', type: 'confirm', message: 'sure?', opened_at: 1.5 },
  ]);
});

test('an answer of the agent is labelled agent although the close comes before the reply', () => {
  const { state, commands } = play([...start, opened('confirm'), answered('d-1', true), closed(2000)]);
  assert.deepEqual(sent(commands, 'Page.handleJavaScriptDialog'), [{ accept: true }]);
  assert.deepEqual(supervisorFields(state).recent_dialogs, [
    { id: 'd-1', type: 'confirm', message: 'sure?', opened_at: 0, closed_at: 2, closed_by: 'agent' },
  ]);
});

test('a close that nobody announced is remote', () => {
  const { state } = play([...start, opened('alert'), closed()]);
  assert.equal(state.recentDialogs.at(0)?.closedBy, 'remote');
});

test('an answer that the browser refuses means somebody else was first', () => {
  const refused = {
    kind: 'reply',
    tag: { kind: 'dialog_answer', dialogId: 'd-1' },
    failed: true,
    result: undefined,
    at: 0,
  } as const;
  const { state } = play([...start, opened('alert'), answered('d-1', true), refused]);
  assert.equal(state.recentDialogs.at(0)?.closedBy, 'remote');
});

test('the watchdog dismisses a dialog that nobody answered for 300 s', () => {
  const early = play([...start, opened('confirm', {}, 0), time(299_999)]);
  assert.equal(early.state.pendingDialogs.length, 1);
  const { state, commands } = playOn(early.state, [time(300_000), closed(300_010)]);
  assert.deepEqual(sent(commands, 'Page.handleJavaScriptDialog'), [{ accept: false }]);
  assert.equal(state.recentDialogs.at(0)?.closedBy, 'watchdog');
});

test('the shell is told when to come back for the watchdog', () => {
  const { commands } = play([...start, opened('confirm', {}, 0)], { watchdogMs: 1000 });
  assert.deepEqual(
    commands.findLast((command) => command.kind === 'wake'),
    { kind: 'wake', at: 1000 },
  );
});

for (const [policy, accept] of [
  ['auto_dismiss', false],
  ['auto_accept', true],
] as const) {
  test(`${policy} answers at once and never shows the dialog as pending`, () => {
    const open = play([...start, opened('beforeunload', { message: '' })], { policy });
    assert.deepEqual(sent(open.commands, 'Page.handleJavaScriptDialog'), [{ accept }]);
    assert.deepEqual(supervisorFields(open.state).pending_dialogs, []);
    const { state } = playOn(open.state, [closed()]);
    assert.equal(state.recentDialogs.at(0)?.closedBy, 'auto_policy');
  });
}

test('an accepted prompt without a text gets the default of the page', () => {
  const { commands } = play([...start, opened('prompt', { defaultPrompt: 'me' }), answered('d-1', true)]);
  assert.deepEqual(sent(commands, 'Page.handleJavaScriptDialog'), [{ accept: true, promptText: 'me' }]);
});

test('twenty closed dialogs are kept and the oldest goes first', () => {
  const { state } = play([...start, ...Array.from({ length: 25 }, () => [opened('alert'), closed()]).flat()]);
  const ids = supervisorFields(state).recent_dialogs.map(({ id }) => id);
  assert.equal(ids.length, 20);
  assert.equal(ids[0], 'd-6');
  assert.equal(ids[19], 'd-25');
});

test('fifty console errors are kept, and plain lines are no errors', () => {
  const { state } = play([
    ...start,
    ...Array.from({ length: 60 }, (_, index) => logged(`e${index}`)),
    logged('plain', 'log'),
  ]);
  const texts = supervisorFields(state).console_errors.map(({ text }) => text);
  assert.equal(texts.length, 50);
  assert.deepEqual([texts[0], texts[49]], ['e10', 'e59']);
});

test('invisible characters of a dialog are shown', () => {
  const { state } = play([...start, opened('alert', { message: 'a\u202eb\u0007c' })]);
  assert.equal(supervisorFields(state).pending_dialogs[0]?.message, 'a\\u{202e}b\\u{7}c');
});

test('of two native dialogs at once the newer is unanswerable and answering it reloads the page', () => {
  const overlap = play([
    ...start,
    frameTargetAttached('frame', 'F'),
    opened('confirm'),
    opened('confirm', { frameId: 'frame' }),
    closed(5, 'page'),
  ]);
  assert.equal(overlap.state.recentDialogs.at(0)?.closedBy, 'remote');
  assert.equal(overlap.state.pendingDialogs.at(0)?.unanswerable, true);
  const { state, commands } = playOn(overlap.state, [answered('d-2', true)]);
  assert.equal(sent(commands, 'Page.reload').length, 1);
  assert.equal(sent(commands, 'Page.handleJavaScriptDialog').length, 0);
  assert.equal(state.recentDialogs.at(1)?.closedBy, 'agent');
});

test('local frames of another site use the bridge, the page itself does not', () => {
  const { commands } = play([...start, frameTargetAttached('frame', 'F')]);
  const bridged = commands.filter(
    (command) => command.kind === 'send' && command.method === 'Page.addScriptToEvaluateOnNewDocument',
  );
  assert.deepEqual(
    bridged.map((command) => command.kind === 'send' && command.sessionId),
    ['F'],
  );
});

test('set-up is written in one go, resumes the target last and waits for nothing', () => {
  const { commands } = play([...start, frameTargetAttached('frame', 'F')]);
  const own = commands.flatMap((command) => (command.kind === 'send' && command.sessionId === 'F' ? [command] : []));
  assert.equal(own.at(-1)?.method, 'Runtime.runIfWaitingForDebugger');
  assert.ok(own.every((command) => command.tag === undefined));
});

test('two bridged dialogs are open together and each is answered in its own frame', () => {
  const both = play([
    ...start,
    frameTargetAttached('f1', 'F1'),
    frameTargetAttached('f2', 'F2'),
    paused('confirm', 'one', 'F1'),
    paused('prompt', 'two', 'F2'),
  ]);
  assert.equal(supervisorFields(both.state).pending_dialogs.length, 2);
  const { state, commands } = playOn(both.state, [answered('d-2', true, 'Ada'), answered('d-1', false)]);
  const bodies = sent(commands, 'Fetch.fulfillRequest').map(({ body }) =>
    JSON.parse(Buffer.from(String(body), 'base64').toString()),
  );
  assert.deepEqual(bodies, [
    { accept: true, prompt_text: 'Ada' },
    { accept: false, prompt_text: 'me' },
  ]);
  assert.deepEqual(
    state.recentDialogs.map(({ closedBy }) => closedBy),
    ['agent', 'agent'],
  );
});

test('on a hosted browser a held dialog stands in recent_dialogs as remote and awaits its answer', () => {
  const held = play([...start, paused('prompt', 'who', 'P', 3000)], { backend: 'hosted' });
  const fields = supervisorFields(held.state);
  assert.deepEqual(fields.pending_dialogs, []);
  assert.deepEqual(fields.recent_dialogs, [
    {
      id: 'd-1',
      type: 'prompt',
      message: 'who',
      opened_at: 3,
      closed_at: 3,
      closed_by: 'remote',
      awaiting_answer: true,
    },
  ]);
  const { state } = playOn(held.state, [answered('d-1', true, 'Ada', 4000)]);
  assert.deepEqual(supervisorFields(state).recent_dialogs, [
    { id: 'd-1', type: 'prompt', message: 'who', opened_at: 3, closed_at: 4, closed_by: 'remote' },
  ]);
});

test('a bridged dialog whose document goes away is closed as remote', () => {
  const { state } = play([
    ...start,
    frameTargetAttached('frame', 'F'),
    paused('confirm', 'x'),
    navigated('page', 'http://b.test/'),
  ]);
  assert.deepEqual(
    state.recentDialogs.map(({ closedBy }) => closedBy),
    ['remote'],
  );
  assert.deepEqual(state.pendingDialogs, []);
});

test('a detached session takes all sessions and frames below it along', () => {
  const deep = play([
    ...start,
    frameTargetAttached('f1', 'S1', 'P', 'page'),
    frameTargetAttached('f2', 'S2', 'S1', 'f1'),
    frameTargetAttached('f3', 'S3', 'S2', 'f2'),
  ]);
  const { state, commands } = playOn(deep.state, [cdp('Target.detachedFromTarget', { sessionId: 'S1' }, 'P')]);
  assert.deepEqual([...state.sessions.keys()], ['P']);
  assert.deepEqual([...(state.pages.get('page')?.frames.keys() ?? [])], ['page']);
  const rejected = commands.flatMap((command) => (command.kind === 'reject_sessions' ? command.sessionIds : []));
  assert.deepEqual(rejected, ['S1', 'S2', 'S3']);
});

test('a new document in the tab clears every frame, also those that report nothing', () => {
  const { state } = play([
    ...start,
    frameAdded('local'),
    frameTargetAttached('f1', 'S1'),
    frameTargetAttached('f2', 'S2', 'S1', 'f1'),
    navigated('page', 'http://b.test/'),
  ]);
  assert.deepEqual([...state.sessions.keys()], ['P']);
  assert.deepEqual([...(state.pages.get('page')?.frames.keys() ?? [])], ['page']);
});

test('a frame that moves to another process keeps its id and its place', () => {
  const { state } = play([
    ...start,
    frameAdded('frame'),
    frameTargetAttached('frame', 'F'),
    navigated('frame', 'http://b.test/x', 'F', 'page'),
    cdp('Page.frameDetached', { frameId: 'frame', reason: 'swap' }, 'P'),
  ]);
  assert.deepEqual(supervisorFields(state).frame_tree?.children, [
    { frame_id: 'frame', url: 'http://b.test/x', is_oopif: true, session_id: 'F' },
  ]);
});

test('a crash rejects what waits on the page and a navigation revives it', () => {
  const crash = play([...start, opened('alert'), cdp('Inspector.targetCrashed', {}, 'P')]);
  assert.equal(crash.state.pages.get('page')?.crashed, true);
  assert.equal(crash.state.recentDialogs.at(0)?.closedBy, 'remote');
  assert.ok(crash.commands.some((command) => command.kind === 'reject_sessions' && command.sessionIds.includes('P')));
  const { state } = playOn(crash.state, [navigated('page', 'http://a.test/again')]);
  assert.equal(state.pages.get('page')?.crashed, false);
});

test('a closed tab hands over to the one that opened it', () => {
  const two = play([...start, pageAttached('popup', 'Q', 0, 'page'), { kind: 'select_page', pageId: 'popup', at: 0 }]);
  assert.equal(two.state.currentPageId, 'popup');
  const { state } = playOn(two.state, [cdp('Target.detachedFromTarget', { sessionId: 'Q' }, undefined)]);
  assert.equal(state.currentPageId, 'page');
});

test('thirty frame entries are shown, frames of other sites two deep, and the rest is told as truncated', () => {
  const many = play([...start, ...Array.from({ length: 40 }, (_, index) => frameAdded(`f${index}`))]);
  const wide = supervisorFields(many.state).frame_tree;
  assert.equal(wide?.children.length, 30);
  assert.equal(wide?.truncated, true);
  const nested = play([
    ...start,
    frameTargetAttached('f1', 'S1'),
    frameTargetAttached('f2', 'S2', 'S1', 'f1'),
    frameTargetAttached('f3', 'S3', 'S2', 'f2'),
  ]);
  const deep = supervisorFields(nested.state).frame_tree;
  assert.deepEqual(
    deep?.children.map(({ frame_id }) => frame_id),
    ['f1', 'f2'],
  );
  assert.equal(deep?.truncated, true);
});

test('a lost connection closes dialogs as remote, forgets all ids and tries again with growing pauses', () => {
  const lost = { kind: 'disconnected', reason: 'gone', final: false, at: 20_000 } as const;
  const down = play([...start, opened('alert'), lost]);
  assert.equal(down.state.recentDialogs.at(0)?.closedBy, 'remote');
  assert.equal(down.state.sessions.size, 0);
  const waits: number[] = [];
  let { state } = down;
  for (;;) {
    const { link } = state;
    if (link.kind !== 'waiting') break;
    waits.push(link.retryAt - lost.at);
    state = playOn(state, [time(link.retryAt), { kind: 'connect_failed', reason: 'refused', at: lost.at }]).state;
  }
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000]);
  assert.equal(state.link.kind, 'gone');
});

test('a browser that cannot be reached at the start is gone at once', () => {
  const { state } = play([{ kind: 'connect_failed', reason: 'refused', at: 0 }]);
  assert.deepEqual(state.link, { kind: 'gone', reason: 'refused' });
});

test('a browser that misses its heartbeat is given up and reached anew', () => {
  const beat = play([...start, time(15_000)]);
  assert.equal(sent(beat.commands, 'Browser.getVersion').length, 1);
  const { state, commands } = playOn(beat.state, [time(20_000)]);
  assert.equal(state.link.kind, 'waiting');
  assert.ok(commands.some((command) => command.kind === 'disconnect'));
});

test('a page that answers nothing after the connection is marked, until it answers', () => {
  const silent = play([...start, time(1500)]);
  assert.equal(silent.state.pages.get('page')?.answers.kind, 'no');
  const tree = {
    frameTree: { frame: { id: 'page', loaderId: 'l', url: 'http://a.test/', securityOrigin: 'http://a.test' } },
  };
  const { state } = playOn(silent.state, [
    { kind: 'reply', tag: { kind: 'frame_tree', sessionId: 'P' }, failed: false, result: tree, at: 2000 },
  ]);
  assert.equal(state.pages.get('page')?.answers.kind, 'yes');
});

test('leaving a browser dismisses what is open there', () => {
  const { commands } = play([
    ...start,
    frameTargetAttached('frame', 'F'),
    opened('confirm'),
    paused('confirm', 'x'),
    { kind: 'stop', at: 0 },
  ]);
  assert.deepEqual(sent(commands, 'Page.handleJavaScriptDialog'), [{ accept: false }]);
  assert.equal(sent(commands, 'Fetch.fulfillRequest').length, 1);
});

test('malformed, unknown and unsolicited messages change nothing', () => {
  assert.equal(readEvent('Page.frameAttached', { frameId: 7 }), undefined);
  assert.equal(readEvent('Page.javascriptDialogOpening', { type: 'other', message: 'x', url: '' }), undefined);
  assert.equal(readEvent('Page.frameNavigated', null), undefined);
  assert.equal(readEvent('toString', {}), undefined);
  const { state } = play(start);
  const strange = [
    closed(),
    answered('d-9', true),
    cdp('Target.detachedFromTarget', { sessionId: 'nobody' }, undefined),
    cdp('Page.frameDetached', { frameId: 'nobody' }, 'P'),
    opened('alert', {}, 0, 'unknown session'),
    cdp(
      'Fetch.requestPaused',
      { requestId: 'r', frameId: 'f', request: { url: `${BRIDGE_ORIGIN}/?type=format` } },
      'P',
    ),
    {
      kind: 'reply',
      tag: { kind: 'frame_tree', sessionId: 'P' },
      failed: false,
      result: { frameTree: 7 },
      at: 0,
    } as const,
  ];
  assert.deepEqual(playOn(state, strange).state, state);
});

test('a guarded browser refuses private addresses and asks about names', () => {
  const request = (url: string) =>
    cdp('Fetch.requestPaused', { requestId: url, frameId: 'page', request: { url } }, 'P');
  const { commands } = play(
    [
      ...start,
      request('http://127.0.0.1/'),
      request('http://[::1]/'),
      request('file:///etc/passwd'),
      request('http://8.8.8.8/'),
      request('http://example.org/'),
    ],
    { guardPrivate: true },
  );
  assert.deepEqual(
    sent(commands, 'Fetch.failRequest').map(({ requestId }) => requestId),
    ['http://127.0.0.1/', 'http://[::1]/', 'file:///etc/passwd'],
  );
  assert.deepEqual(
    sent(commands, 'Fetch.continueRequest').map(({ requestId }) => requestId),
    ['http://8.8.8.8/'],
  );
  assert.ok(commands.some((command) => command.kind === 'look_up' && command.host === 'example.org'));
  const { commands: after } = play(
    [...start, { kind: 'looked_up', sessionId: 'P', requestId: 'r', allowed: false, at: 0 }],
    { guardPrivate: true },
  );
  assert.equal(sent(after, 'Fetch.failRequest').length, 1);
});
