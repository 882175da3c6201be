import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { findScript, isGate, runScript, type ScriptOutcome } from './script.ts';

let folder: string;
let scripts: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-script-'));
  scripts = join(folder, 'scripts');
  await mkdir(scripts);
});
after(() => rm(folder, { recursive: true, force: true }));

async function write(name: string, text: string, mode = 0o644): Promise<string> {
  const path = join(scripts, name);
  await writeFile(path, text);
  await chmod(path, mode);
  return path;
}

const run = (path: string, options: { timeoutMs?: number; env?: NodeJS.ProcessEnv; signal?: AbortSignal } = {}) =>
  runScript({
    path,
    places: { scripts, confined: false },
    env: { PATH: process.env.PATH, ...options.env },
    facts: { SVC_JOB_NAME: 'test' },
    timeoutMs: options.timeoutMs ?? 20_000,
    signal: options.signal ?? new AbortController().signal,
  });

const failure = (outcome: ScriptOutcome): string =>
  outcome.kind === 'failed' ? outcome.reason : `not: ${outcome.kind}`;
const find = (name: string, confined: boolean) => findScript(name, { scripts, cwd: folder, confined });

test('a script runs by its #! line, by its extension, or by itself when it is executable', async () => {
  const byShebang = await write('by-shebang', '#!/usr/bin/env node\nconsole.log("node", 1 + 1)\n');
  const byExtension = await write('by-extension.sh', 'echo shell\n');
  const program = await write('program', '#!/bin/sh\necho program\n', 0o755);
  const python = await write('three.py', 'print("python")\n');
  assert.deepEqual(await run(byShebang), { kind: 'printed', output: 'node 2\n' });
  assert.deepEqual(await run(byExtension), { kind: 'printed', output: 'shell\n' });
  assert.deepEqual(await run(program), { kind: 'printed', output: 'program\n' });
  assert.deepEqual(await run(python), { kind: 'printed', output: 'python\n' });
});

test('no shell of ours reads the path: its strange characters mean nothing', async () => {
  const path = await write('a; echo $(id) `id`.sh', 'echo safe\n');
  assert.deepEqual(await run(path), { kind: 'printed', output: 'safe\n' });
});

test('a script sees none of our secrets, and the facts of its slot', async () => {
  const path = await write('env.sh', 'env\n');
  const env = { TELEGRAM_BOT_TOKEN: 'sekret', SVC_MODEL_API_KEY: 'sekret', LC_ALL: 'C', HOME: folder };
  const outcome = await run(path, { env });
  assert.ok(outcome.kind === 'printed');
  assert.doesNotMatch(outcome.output, /sekret/);
  assert.match(outcome.output, /^SVC_JOB_NAME=test$/m);
  assert.match(outcome.output, /^LC_ALL=C$/m);
});

test('the last line {"wake": false} means that there is nothing to do', async () => {
  assert.equal((await run(await write('gate.sh', 'echo all well\necho \'{"wake": false}\'\necho\n'))).kind, 'gated');
  assert.ok(isGate('{"wake":false,"reason":"x"}'));
  for (const text of [
    '{"wake": true}',
    '{"wake": 0}',
    '{"wake": false} trailing',
    'wake: false',
    '',
    'false',
    '{"wake": false}\nmore',
  ]) {
    assert.ok(!isGate(text), text);
  }
});

test('a script that fails says how, with what it wrote to stderr', async () => {
  const path = await write('fail.sh', 'echo partial\necho "no such host" >&2\nexit 3\n');
  assert.equal(failure(await run(path)), 'It ended with exit code 3. It said: no such host');
  assert.match(failure(await run(await write('self.sh', 'kill -TERM $$\n'))), /ended by SIGTERM/);
});

test('a script that never ends is ended with everything it started', async () => {
  const pidFile = join(folder, 'child.pid');
  const path = await write('endless.sh', `sleep 1000 &\necho $! > ${pidFile}\nwhile true; do sleep 1; done\n`);
  assert.match(failure(await run(path, { timeoutMs: 500 })), /longer than 0.5 s and was ended/);
  const { readFile } = await import('node:fs/promises');
  const pid = Number(await readFile(pidFile, 'utf8'));
  for (let wait = 0; wait < 100 && alive(pid); wait += 1) await delay(50);
  assert.equal(alive(pid), false, 'its child is gone too');
});

test('a stop of the gateway ends a running script and says so', async () => {
  const stop = new AbortController();
  const going = run(await write('long.sh', 'sleep 1000\n'), { signal: stop.signal });
  await delay(200);
  stop.abort();
  assert.match(failure(await going), /gateway was stopped while it ran; it is not started again/);
});

test('a gigabyte of output is read and cut; its beginning and its end stay', async () => {
  const path = await write('flood.sh', 'echo first\nhead -c 1000000000 /dev/zero | tr "\\0" x\necho\necho last\n');
  const before = process.memoryUsage().rss;
  const outcome = await run(path, { timeoutMs: 120_000 });
  assert.ok(outcome.kind === 'printed');
  assert.ok(outcome.output.length < 70_000);
  assert.match(outcome.output, /^first\n/);
  assert.match(outcome.output, /last\n$/);
  assert.ok(process.memoryUsage().rss - before < 300_000_000);
});

test('what cannot be a script is refused with a way out', async () => {
  const reason = async (name: string, confined = false) => {
    const found = await find(name, confined);
    if (found.kind === 'found') assert.fail(`${name} was found`);
    assert.notEqual(found.help, '');
    return found.reason;
  };
  await write('plain', 'echo x\n');
  await write('open.sh', 'echo x\n', 0o666);
  await write('fine.sh', 'echo x\n');
  await writeFile(join(folder, 'outside.sh'), 'echo x\n', { mode: 0o644 });
  await symlink(join(folder, 'outside.sh'), join(scripts, 'link.sh'));
  await symlink(join(scripts, 'fine.sh'), join(scripts, 'inner-link.sh'));
  await mkdir(join(scripts, 'folder.sh'));
  assert.match(await reason('missing.sh'), /There is no script missing.sh \(looked at .*scripts\/missing.sh and /);
  assert.match(await reason('plain'), /not executable, has no #! line and no known extension/);
  assert.match(await reason('open.sh'), /Everybody on this machine may change/);
  assert.match(await reason('folder.sh'), /not a file/);
  assert.match(await reason('bad\0name'), /not a file name/);
  assert.match(await reason('link.sh', true), /leads out of/);
  assert.match(await reason('../outside.sh', true), /leads out of/);
  assert.match(await reason(join(folder, 'outside.sh'), true), /leads out of/);
  assert.match(await reason('outside.sh', true), /There is no script/);
  assert.equal((await find('outside.sh', false)).kind, 'found', 'a person may name any file');
  assert.equal((await find('link.sh', false)).kind, 'found');
  assert.equal((await find('fine.sh', true)).kind, 'found');
  assert.equal((await find('inner-link.sh', true)).kind, 'found');
});

test('a script that was removed or opened to others since then is not run', async () => {
  const path = await write('changed.sh', 'echo x\n');
  await chmod(path, 0o777);
  assert.match(failure(await run(path)), /Everybody on this machine/);
  await rm(path);
  assert.match(failure(await run(path)), /There is no script/);
});

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
