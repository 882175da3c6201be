import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { ToolContext, Trust } from '../agent/tool.ts';
import { createSandbox, runUnconfined } from '../system/sandbox.ts';
import { ownCommand } from './own-command.ts';
import { createTerminal, type TerminalDeps } from './terminal.ts';
import { createWorkFolders } from './work-folders.ts';

const sandbox = createSandbox(process.env.PATH);
const why = await sandbox.problem();
if (why !== undefined && process.env.SVC_E2E === 'required') throw new Error(why);

let root: string;
before(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-terminal-'));
});
after(() => rmSync(root, { recursive: true, force: true }));

const settings = { sandbox: 'bubblewrap', network: false, timeoutMs: 20_000, maxOutputBytes: 10_000 } as const;

function terminal(change: Partial<TerminalDeps> = {}, options: Partial<TerminalDeps['settings']> = {}) {
  const deps: TerminalDeps = {
    folders: createWorkFolders(join(root, 'work')),
    sandbox,
    runUnconfined: (shell) => runUnconfined(shell, process.env),
    ...change,
    settings: { ...settings, ...options },
  };
  const tool = createTerminal(deps);
  const context = (taskId: string, trust: Trust): ToolContext => ({
    taskId,
    trust,
    grantedTools: ['terminal'],
    signal: new AbortController().signal,
  });
  return {
    hidden: (taskId: string, trust: Trust) => tool.hidden?.({ taskId, trust }),
    run: (command: string, taskId = 'run_1', trust: Trust = 'untrusted', timeout_s?: number) =>
      tool.run(tool.input.parse({ command, timeout_s }), context(taskId, trust)),
  };
}

describe('with a sandbox', { skip: why }, () => {
  test('a command runs in the work folder of its task, and its files stay for the next one', async () => {
    const { run } = terminal();
    assert.deepEqual(await run('echo hello > note; pwd'), { output: join(root, 'work', 'run_1') });
    assert.deepEqual(await run('cat note'), { output: 'hello' });
    assert.equal(readFileSync(join(root, 'work', 'run_1', 'note'), 'utf8'), 'hello\n');
  });

  test('the exit code, an empty output and the time limit are told', async () => {
    const { run } = terminal();
    assert.deepEqual(await run('echo no >&2; exit 4'), { output: 'no\n[exit code 4]', failed: true });
    assert.deepEqual(await run('true'), { output: '(no output)' });
    const late = await run('echo begun; sleep 60', 'run_1', 'untrusted', 0.5);
    assert.deepEqual(late, { output: 'begun\n[ended after 0.5 s, with everything it had started]', failed: true });
  });

  test('one task does not see the folder of another', async () => {
    const { run } = terminal();
    await run('echo mine > secret', 'run_a');
    const result = await run(`cat ${join(root, 'work', 'run_a', 'secret')}; ls ${join(root, 'work')}`, 'run_b');
    assert.ok(!result.output.includes('mine'));
    assert.ok(!result.output.includes('run_a\n'));
  });

  test('`none` is honoured in a person’s own chat and nowhere else', async () => {
    const outside = join(root, 'outside');
    const { run } = terminal({}, { sandbox: 'none' });
    await run(`echo x > ${outside}`, 'chat_1', 'untrusted');
    await run(`echo x > ${outside}`, 'run_1', 'untrusted');
    await run(`echo x > ${outside}`, 'run_1', 'person');
    assert.equal(existsSync(outside), false);
    await run(`echo x > ${outside}`, 'chat_1', 'person');
    assert.equal(existsSync(outside), true);
  });

  test('network is for a person’s own chat only', async () => {
    const count = 'tail -n +3 /proc/net/dev | wc -l';
    const { run } = terminal({}, { network: true });
    assert.deepEqual(await run(count, 'run_1', 'untrusted'), { output: '1' });
    assert.deepEqual(await run(count, 'run_1', 'person'), { output: '1' });
    const here = readFileSync('/proc/net/dev', 'utf8').trim().split('\n').length - 2;
    assert.deepEqual(await run(count, 'chat_1', 'person'), { output: String(here) });
  });
});

describe('without bubblewrap', () => {
  const none = () => ({ sandbox: createSandbox(root) });

  test('the terminal of an untrusted run is hidden and says why, whatever is configured', async () => {
    for (const choice of ['bubblewrap', 'none'] as const) {
      const { hidden, run } = terminal(none(), { sandbox: choice });
      assert.match((await hidden('run_1', 'untrusted')) ?? '', /not installed.*Install bubblewrap/);
      const result = await run(`touch ${join(root, 'ran')}`);
      assert.equal(result.failed, true);
    }
    assert.equal(existsSync(join(root, 'ran')), false);
  });

  test('a person’s chat hears about both ways out, and gets the machine when it asked for it', async () => {
    assert.match(
      (await terminal(none()).hidden('chat_1', 'person')) ?? '',
      /Install bubblewrap, or set terminal\.sandbox to none/,
    );
    assert.equal(await terminal(none(), { sandbox: 'none' }).hidden('chat_1', 'person'), undefined);
  });
});

describe('webhook subscriptions from a chat', () => {
  const calls: (readonly string[])[] = [];
  const runSvc: TerminalDeps['runSvc'] = async (words) => {
    calls.push(words);
    return { kind: 'exited', code: 0, stdout: 'made\n', stderr: '', droppedBytes: 0 };
  };

  test('svc webhook is run by the program itself, only in a person’s own chat', async () => {
    const { run } = terminal({ runSvc });
    const line = `svc webhook subscribe deploys --prompt 'It is {status}; tell "me" $5' --deliver log`;
    assert.deepEqual(await run(line, 'chat_1', 'person'), { output: 'made' });
    assert.deepEqual(calls, [
      ['webhook', 'subscribe', 'deploys', '--prompt', 'It is {status}; tell "me" $5', '--deliver', 'log'],
    ]);
    await run(line, 'run_1', 'person');
    await run(line, 'chat_1', 'untrusted');
    assert.equal(calls.length, 1);
  });

  test('anything a shell would interpret, and every other command, is left to the sandbox', () => {
    const refused = [
      'svc webhook list | sh',
      'svc webhook list && rm -rf /',
      'svc webhook list; id',
      'svc webhook subscribe $(id)',
      'svc webhook subscribe "$(id)"',
      'svc webhook subscribe "`id`"',
      'svc webhook subscribe a > /etc/x',
      'svc webhook list\nid',
      "svc webhook subscribe 'open",
      'svc webhook',
      'svc gateway stop',
      'svc config set terminal.sandbox none',
      'svc cron create x y',
      'svcwebhook list',
      'echo svc webhook list',
    ];
    for (const line of refused) assert.equal(ownCommand(line), undefined, line);
    const wordsOf = (line: string) => {
      const own = ownCommand(line);
      return own?.kind === 'run' ? own.words : own;
    };
    assert.deepEqual(wordsOf('  svc webhook list  '), ['webhook', 'list']);
    assert.deepEqual(wordsOf('svc webhook subscribe a \\\n  --prompt "x {y}"'), [
      'webhook',
      'subscribe',
      'a',
      '--prompt',
      'x {y}',
    ]);
  });

  test('only the listed options are taken: no other address, no secrets, no files', async () => {
    const refused = [
      `svc webhook test a --url 'http://127.0.0.1:18999/x?y='`,
      `svc webhook test a '--url=http://127.0.0.1:18999/'`,
      'svc webhook test --no-wait --url http://127.0.0.1 a',
      'svc webhook test a --payload {} --url http://127.0.0.1'.replace('{}', "'{}'"),
      'svc webhook subscribe a --secret-stdin',
      'svc webhook subscribe a --rotate-secret',
      'svc webhook subscribe a --keep-old-secret',
      'svc webhook subscribe a --toolsets core',
      'svc webhook subscribe a --config=/etc/passwd',
      'svc webhook list --reveal',
      'svc webhook remove a -- --x',
    ];
    const { run } = terminal({ runSvc });
    const before = calls.length;
    for (const line of refused) {
      const { output, failed } = await run(line, 'chat_1', 'person');
      assert.match(output, /is not available here/, line);
      assert.equal(failed, true);
    }
    assert.equal(calls.length, before);
    // A value is a value, whatever it looks like.
    const allowed = [
      'svc webhook subscribe a --prompt --url --deliver=log --deliver-only',
      `svc webhook test a --payload '{"a":1}' --event push --no-wait --json`,
      'svc webhook list --json',
      'svc webhook remove --help',
    ];
    for (const line of allowed) assert.equal(ownCommand(line)?.kind, 'run', line);
  });
});
