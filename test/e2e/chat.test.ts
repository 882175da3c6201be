// `svc chat` on a pseudo-terminal and `svc ask` in pipes, against a scripted model server.

import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { createSandbox } from '../../src/system/sandbox.ts';
import { chromiumOrSkip, openTheatre } from '../support/browser-stage.ts';
import { startHttpDouble } from '../support/http-double.ts';
import { type ModelServer, type SeenRequest, startModelServer } from '../support/model-server.ts';
import { openTerminal, type PseudoTerminal } from '../support/pseudo-terminal.ts';
import { createSvcHome } from '../support/svc.ts';
import { until } from '../support/until.ts';

const noSandbox = await createSandbox(process.env.PATH).problem();
if (noSandbox !== undefined && process.env.SVC_E2E === 'required') throw new Error(noSandbox);
const noChromium = (await chromiumOrSkip()) === undefined ? 'Chromium is not installed' : false;

const PROMPT = /> $/;
const home = createSvcHome();
let model: ModelServer;
const terminals: PseudoTerminal[] = [];

before(async () => {
  model = await startModelServer(scripted);
  home.configure(`model: { base_url: '${model.url}', name: scripted }\n`);
});
after(async () => {
  await model.close();
  await home.remove();
});
afterEach(() => {
  for (const terminal of terminals.splice(0)) if (terminal.running) terminal.kill();
});

function scripted({ body }: SeenRequest) {
  const last = body.messages.at(-1);
  const text = String(last?.content);
  const asked = body.messages.findLast(({ role }) => role === 'user')?.content;
  if (asked === 'subscribe me') return subscribing(body.messages.filter(({ role }) => role === 'tool').length);
  if (last?.role === 'tool') return { text: `# Found\n\nThe file says **${text.replace(/^1\t/, '')}**.` };
  if (text.startsWith('write')) {
    return {
      text: 'I will.',
      toolCalls: [{ name: 'write_file', arguments: { path: 'note.txt', content: 'forty-two' } }],
    };
  }
  if (text.startsWith('read')) return { toolCalls: [{ name: 'read_file', arguments: { path: 'note.txt' } }] };
  if (text.startsWith('slow')) return { text: 'drip '.repeat(400), pieceDelayMs: 30 };
  if (text.startsWith('escape')) return { text: '\u001b]0;title\u0007 and \u001b[2J the end' };
  if (text.startsWith('break')) return { status: 400, body: '{"error":{"message":"too strange"}}' };
  return { text: `You said: ${text} (${body.messages.filter(({ role }) => role === 'user').length})` };
}

/** Loads the skill, does what it says, reports. */
function subscribing(results: number) {
  if (results === 0) return { toolCalls: [{ name: 'skill', arguments: { name: 'webhook-subscriptions' } }] };
  const command = "svc webhook subscribe deploys --prompt 'Deployed: {service}' --deliver log";
  return results === 1 ? { toolCalls: [{ name: 'terminal', arguments: { command } }] } : { text: 'It is done.' };
}

function chat(...args: string[]): PseudoTerminal {
  const terminal = openTerminal(['chat', ...args], { SVC_HOME: home.path, HOME: home.path });
  terminals.push(terminal);
  return terminal;
}

describe('svc chat', () => {
  test('a turn streams, shows its tool calls, and the next turn knows of it', async () => {
    const terminal = chat();
    await terminal.shows('svc chat · scripted at');
    await terminal.shows(PROMPT);
    terminal.type('write it down\r');
    await terminal.shows('I will.');
    await terminal.shows(/▸ write_file path: note\.txt/);
    await terminal.shows('✔ Created note.txt');
    await terminal.shows(PROMPT);
    terminal.type('read it\r');
    const shown = await terminal.shows(/The file says forty-two\./);
    assert.ok(!shown.includes('**'), 'bold text is shown as bold text');
    assert.ok(!shown.includes('# Found'), 'a heading is shown as a heading');
    await terminal.shows(PROMPT);
    terminal.type('/quit\r');
    assert.equal(await terminal.exited, 0);
  });

  test('Ctrl-C interrupts the turn and not the program; what was said stays', async () => {
    const terminal = chat();
    await terminal.shows(PROMPT);
    terminal.type('slow please\r');
    await terminal.shows('drip drip drip');
    terminal.type('\u0003');
    await terminal.shows('[interrupted]');
    await terminal.shows(PROMPT);
    assert.equal(model.open, 0);
    terminal.type('still there?\r');
    await terminal.shows('You said: still there? (2)');
    const said = model.requests.at(-1)?.body.messages[2];
    assert.match(String(said?.content), /^drip drip[\s\S]*interrupted/);
    await terminal.shows(PROMPT);
    terminal.type('\u0004');
    assert.equal(await terminal.exited, 0);
  });

  test('/stop typed during an answer interrupts it, and other lines wait for their turn', async () => {
    const terminal = chat();
    await terminal.shows(PROMPT);
    terminal.type('slow one\r');
    await terminal.shows('drip drip');
    terminal.type('and then this\r');
    // On a busy machine two lines that follow too closely are read together and count as one paste.
    await new Promise((resolve) => setTimeout(resolve, 2000));
    terminal.type('/stop\r');
    await terminal.shows('[interrupted]');
    await terminal.shows('> and then this');
    await terminal.shows('You said: and then this (2)');
    await terminal.shows(PROMPT);
    terminal.type('/quit\r');
    assert.equal(await terminal.exited, 0);
  });

  test('slash commands answer, and a mistyped one names the right one', async () => {
    const terminal = chat();
    await terminal.shows(PROMPT);
    terminal.type('/hlep\r');
    await terminal.shows('Did you mean /help?');
    await terminal.shows(PROMPT);
    terminal.type('/help\r');
    await terminal.shows('/quit');
    await terminal.shows(PROMPT);
    terminal.type('/tools\r');
    await terminal.shows('read_file');
    await terminal.shows(PROMPT);
    terminal.type('/skills\r');
    await terminal.shows('webhook-subscriptions');
    await terminal.shows(PROMPT);
    terminal.type('/model other\r');
    await terminal.shows('Model: other');
    await terminal.shows(PROMPT);
    terminal.type('hi\r');
    await terminal.shows('You said: hi (1)');
    assert.equal(model.requests.at(-1)?.body.model, 'other');
    await terminal.shows(PROMPT);
    terminal.type('/new\r');
    await terminal.shows('A new conversation.');
    await terminal.shows(PROMPT);
    terminal.type('hello\r');
    await terminal.shows('You said: hello (1)');
  });

  test('a failure is told with its reason, and the chat goes on', async () => {
    const terminal = chat();
    await terminal.shows(PROMPT);
    terminal.type('break\r');
    await terminal.shows('too strange');
    await terminal.shows(PROMPT);
    terminal.type('and now\r');
    await terminal.shows('You said: and now (2)');
  });

  test('--continue goes on with the newest session, and the history remembers', async () => {
    const first = chat();
    await first.shows(PROMPT);
    first.type('remember the milk\r');
    await first.shows('You said: remember the milk (1)');
    await first.shows(PROMPT);
    first.type('/quit\r');
    await first.exited;
    const second = chat('--continue');
    await second.shows('continuing "remember the milk"');
    await second.shows(PROMPT);
    // Up twice: over /quit to the prompt before it.
    second.type('\u001b[A');
    await second.shows('/quit');
    second.type('\u001b[A');
    await second.shows('remember the milk');
    second.type('\r');
    await second.shows('You said: remember the milk (2)');
    const history = join(home.path, 'chat_history');
    assert.match(readFileSync(history, 'utf8'), /remember the milk\n/);
    assert.equal(statSync(history).mode & 0o777, 0o600);
  });

  test('pasted lines are one message', async () => {
    const terminal = chat();
    await terminal.shows(PROMPT);
    terminal.type('first line\rsecond line\r');
    await terminal.shows('(1)');
    assert.equal(model.requests.at(-1)?.body.messages.at(-1)?.content, 'first line\nsecond line');
  });

  test('control codes in an answer cannot drive the terminal', async () => {
    const terminal = chat();
    await terminal.shows(PROMPT);
    terminal.type('escape\r');
    await terminal.shows('the end');
    assert.ok(!terminal.raw().includes('\u001b]0;title'));
    assert.ok(!terminal.raw().includes('\u001b[2J'));
  });

  test('a message that is delivered to the session is shown without being asked for', async () => {
    const terminal = chat();
    await terminal.shows(PROMPT);
    terminal.type('hello\r');
    await terminal.shows('You said: hello (1)');
    await terminal.shows(PROMPT);
    const list = await home.svc(['sessions', 'list', '--limit', '1', '--json']);
    const [session] = JSON.parse(list.stdout) as { id: string }[];
    const sent = await home.svc(['deliver', `chat:${session?.id}`, 'The **report** is ready.']);
    assert.equal(sent.code, 0, sent.stderr);
    await terminal.shows('The report is ready.');
    terminal.type('thanks\r');
    await terminal.shows('You said: thanks (2)');
    assert.match(JSON.stringify(model.requests.at(-1)?.body.messages), /The \*\*report\*\* is ready/);
  });
});

describe('the chat and the rest of the house', () => {
  test('a job made with /cron answers into the chat that it was made in', async () => {
    const terminal = chat();
    await terminal.shows(PROMPT);
    terminal.type('/cron create "every 1h" "tell me" --name teller\r');
    await terminal.shows(/Made teller [\s\S]*to origin/);
    await terminal.shows(PROMPT);
    const ran = await home.svc(['cron', 'run', 'teller', '--wait']);
    assert.equal(ran.code, 0, ran.stderr);
    await terminal.shows('You said: tell me');
  });

  test('the agent subscribes to webhooks from its terminal, as the bundled skill tells it', {
    skip: noSandbox,
  }, async () => {
    const terminal = chat();
    await terminal.shows(PROMPT);
    terminal.type('subscribe me\r');
    await terminal.shows('▸ skill webhook-subscriptions');
    await terminal.shows('▸ terminal svc webhook subscribe deploys');
    await terminal.shows('It is done.');
    const list = await home.svc(['webhook', 'list', '--json']);
    assert.match(list.stdout, /"deploys"/);
  });

  test('/browser connects to a browser that runs already, tells about it and lets go of it', {
    skip: noChromium,
  }, async () => {
    const theatre = await openTheatre(() => undefined);
    try {
      const terminal = chat();
      await terminal.shows(PROMPT);
      terminal.type('/browser status\r');
      await terminal.shows('No browser is open yet');
      await terminal.shows(PROMPT);
      terminal.type('/browser connect http://127.0.0.1:1\r');
      await terminal.shows(PROMPT);
      terminal.type(`/browser connect ${theatre.address}\r`);
      await terminal.shows('Connected.');
      await terminal.shows(PROMPT);
      terminal.type('/browser status\r');
      await terminal.shows('Browser: connected');
      await terminal.shows(PROMPT);
      terminal.type('/browser disconnect\r');
      await terminal.shows('Disconnected.');
      await terminal.shows(PROMPT);
      terminal.type('/quit\r');
      assert.equal(await terminal.exited, 0);
    } finally {
      await theatre.close();
    }
  });
});

describe('svc ask', () => {
  test('the answer alone is on stdout; tool calls are on stderr', async () => {
    const result = await home.svc(['ask', 'write', 'it']);
    assert.equal(result.code, 0, result.stderr);
    assert.match(result.stdout, /^# Found\n\nThe file says \*\*Created note\.txt/);
    assert.match(result.stderr, /write_file/);
    assert.ok(!result.stdout.includes('I will.'));
  });

  test('piped text is put below the question, or is the question', async () => {
    await home.svc(['ask', 'Summarise:'], { input: 'a long text\n' });
    assert.equal(model.requests.at(-1)?.body.messages.at(-1)?.content, 'Summarise:\n\na long text');
    const result = await home.svc(['ask'], { input: 'only this' });
    assert.equal(result.stdout, 'You said: only this (1)\n');
  });

  test('--json names the session, which can be gone on with', async () => {
    const first = await home.svc(['ask', '--json', 'one']);
    const { session, answer } = JSON.parse(first.stdout) as { session: string; answer: string };
    assert.equal(answer, 'You said: one (1)');
    const second = await home.svc(['ask', '--continue', session, 'two']);
    assert.equal(second.stdout, 'You said: two (2)\n');
    const shown = await home.svc(['sessions', 'show', session]);
    assert.match(shown.stdout, /> one\n\nYou said: one \(1\)\n\n> two/);
  });

  test('failures have exit code 1 and a reason, wrong use has 2', async () => {
    const broken = await home.svc(['ask', 'break']);
    assert.deepEqual([broken.code, broken.stdout], [1, '']);
    assert.match(broken.stderr, /too strange/);
    const empty = await home.svc(['ask'], { input: '' });
    assert.equal(empty.code, 2);
    const missing = await home.svc(['ask', '--continue', 'chat_none', 'x']);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /no chat session chat_none/);
  });

  test('a server that answers with a page instead of JSON is told as such', async () => {
    await using page = await startHttpDouble(() => ({
      text: '<html>Welcome</html>',
      headers: { 'content-type': 'text/html' },
    }));
    const env = { SVC_MODEL_BASE_URL: page.url };
    const result = await home.svc(['ask', 'hi'], { env });
    assert.equal(result.code, 1);
    assert.notEqual(result.stderr.trim(), '');
    await until(() => page.requests.length > 0);
  });
});
