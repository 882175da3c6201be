import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { createBoundedOutput } from './bounded-output.ts';
import { type ProcessOptions, runProcess } from './process.ts';

const run = (command: string, options: Partial<ProcessOptions> = {}) =>
  runProcess({
    command: '/bin/sh',
    args: ['-c', command],
    cwd: tmpdir(),
    env: { PATH: '/usr/bin:/bin' },
    timeoutMs: 30_000,
    maxOutputBytes: 1000,
    ...options,
  });

test('both streams and the exit code come back', async () => {
  const outcome = await run('echo out; echo err >&2; exit 7');
  assert.deepEqual(outcome, { kind: 'exited', code: 7, stdout: 'out\n', stderr: 'err\n', droppedBytes: 0 });
});

test('input is fed, and a child that does not read it is no failure', async () => {
  assert.equal((await run('tr a-z A-Z', { input: 'shout' })).kind, 'exited');
  const outcome = await run('exec 0<&-; echo done', { input: 'x'.repeat(1_000_000) });
  assert.equal(outcome.kind === 'exited' && outcome.stdout, 'done\n');
});

test('a program that is not there is a value, not a crash', async () => {
  const outcome = await runProcess({
    command: '/nonexistent/program',
    args: [],
    cwd: tmpdir(),
    env: {},
    timeoutMs: 1000,
    maxOutputBytes: 10,
  });
  assert.equal(outcome.kind, 'not_started');
});

test('a background child that holds the pipes open does not hold up the end', async () => {
  const outcome = await run('sleep 3600 & echo end');
  assert.equal(outcome.kind === 'exited' && outcome.stdout, 'end\n');
});

test('a child that is killed by someone else is told apart', async () => {
  assert.equal((await run('kill -9 $$')).kind, 'killed');
});

test('an aborted signal starts nothing', async () => {
  const outcome = await run('echo no', { signal: AbortSignal.abort() });
  assert.deepEqual(outcome, { kind: 'aborted', stdout: '', stderr: '', droppedBytes: 0 });
});

test('bounded output keeps beginning and end, whatever the chunks are', () => {
  const text = Array.from({ length: 5000 }, (_, index) => String(index % 10)).join('');
  for (const size of [1, 3, 7, 64, 4096, 10_000]) {
    const output = createBoundedOutput(100);
    for (let at = 0; at < text.length; at += size) output.add(Buffer.from(text.slice(at, at + size)));
    assert.equal(output.text(), `${text.slice(0, 50)}\n[... 4900 bytes left out ...]\n${text.slice(-50)}`);
    assert.equal(output.totalBytes(), 5000);
  }
});

test('bounded output is whole when it fits, cut characters and control codes are left out', () => {
  const whole = createBoundedOutput(100);
  whole.add(Buffer.from('\u001b[31mrot\u001b[0m\r\nü\u0007'));
  assert.equal(whole.text(), 'rot\nü');
  const cut = createBoundedOutput(4);
  cut.add(Buffer.from('aüüüüb'));
  assert.equal(cut.text(), 'a\n[... 6 bytes left out ...]\nb');
});
