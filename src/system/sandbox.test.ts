import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSandbox, runUnconfined } from './sandbox.ts';

const sandbox = createSandbox(process.env.PATH);
const why = await sandbox.problem();
if (why !== undefined && process.env.SVC_E2E === 'required') throw new Error(why);

const never = new AbortController().signal;
let root: string;
let folder: string;

before(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-sandbox-'));
  folder = join(root, 'work');
  mkdirSync(folder);
});
after(() => rmSync(root, { recursive: true, force: true }));

async function inside(command: string, options: { timeoutMs?: number; signal?: AbortSignal; network?: boolean } = {}) {
  const outcome = await sandbox.run({
    command,
    folder,
    timeoutMs: options.timeoutMs ?? 30_000,
    maxOutputBytes: 8192,
    signal: options.signal ?? never,
    network: options.network ?? false,
  });
  if (outcome.kind === 'not_started') assert.fail(outcome.reason);
  return outcome;
}

/** Processes of this machine whose command line has the mark. */
function alive(mark: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(mark);
      } catch {
        return false;
      }
    });
}

async function gone(mark: string): Promise<void> {
  for (let tries = 0; tries < 100 && alive(mark).length > 0; tries++) await sleep(50);
  assert.deepEqual(alive(mark), []);
}

describe('the sandbox', { skip: why }, () => {
  test('a command works in its folder, and its exit code is told', async () => {
    const outcome = await inside('echo made > here; cat here; exit 3');
    assert.deepEqual([outcome.kind, outcome.stdout], ['exited', 'made\n']);
    assert.equal(outcome.kind === 'exited' && outcome.code, 3);
    assert.equal(readFileSync(join(folder, 'here'), 'utf8'), 'made\n');
  });

  test('nothing outside the folder can be written', async () => {
    const neighbour = join(root, 'neighbour');
    writeFileSync(neighbour, 'untouched');
    const places = ['/x', '/etc/x', '/usr/x', '/dev/x', join(homedir(), 'x'), '/home/x', '/var/x'];
    const outcome = await inside(
      `for place in ${places.join(' ')}; do if (echo bad > $place) 2>/dev/null; then echo wrote $place; fi; done; echo end`,
    );
    assert.equal(outcome.stdout, 'end\n');
    // Here these are in /tmp, which inside is a throw-away folder of the command's own.
    await inside(`(echo bad > ${neighbour}; echo bad > ${join(root, 'new')}) 2>/dev/null`);
    assert.equal(readFileSync(neighbour, 'utf8'), 'untouched');
    assert.deepEqual(readdirSync(root).sort(), ['neighbour', 'work']);
  });

  test('a link in the folder does not lead out of it', async () => {
    writeFileSync(join(root, 'secret'), 'hidden');
    const outcome = await inside(`ln -s ${root}/secret out; cat out 2>&1; ls -a ${root}`);
    assert.ok(!outcome.stdout.includes('hidden'));
    assert.ok(!/^secret$/m.test(outcome.stdout));
  });

  test('kernel settings cannot be changed, even when this process is root', async () => {
    const outcome = await inside('find /proc/sys /proc/sysrq-trigger -type f -writable 2>/dev/null | head -5');
    assert.equal(outcome.stdout, '');
  });

  test('there is no network: services of this machine cannot be reached', async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    try {
      const connect = `(exec 9<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo reached || echo refused`;
      assert.equal((await inside(connect)).stdout, 'refused\n');
      assert.equal(connections, 0);
      assert.equal((await inside(connect, { network: true })).stdout, 'reached\n');
      assert.equal((await inside('tail -n +3 /proc/net/dev | cut -d: -f1')).stdout.trim(), 'lo');
    } finally {
      server.close();
    }
  });

  test('no secret of this process is in the environment of any process inside', async () => {
    process.env.SVC_TEST_SECRET = 'hunter2-in-the-environment';
    try {
      const outcome = await inside('env; cat /proc/*/environ; cat /proc/*/cmdline | tr "\\0" "\\n"');
      assert.ok(outcome.stdout.includes('HOME='));
      assert.ok(!outcome.stdout.includes('hunter2'));
      assert.ok(!outcome.stdout.includes('SVC_'));
    } finally {
      delete process.env.SVC_TEST_SECRET;
    }
  });

  test('a process cannot take all memory, and leaves no core file', async () => {
    const outcome = await inside(`perl -e '$x = "a" x (5 * 2**30); print "took it"' 2>&1; ulimit -c; ulimit -d`);
    assert.ok(!outcome.stdout.includes('took it'));
    assert.match(outcome.stdout, /\n0\n4194304\n$/);
  });

  test('processes of this machine are not visible', async () => {
    const outcome = await inside('ls /proc | grep -c "^[0-9]*$"');
    assert.ok(Number(outcome.stdout) < 10, outcome.stdout);
  });

  test('a background process does not survive its command', async () => {
    const mark = '86401.5';
    const outcome = await inside(`setsid nohup sleep ${mark} >/dev/null 2>&1 & sleep 0.2; echo started`);
    assert.equal(outcome.stdout, 'started\n');
    await gone(`sleep\0${mark}`);
  });

  test('a command that takes too long is ended with all its children', async () => {
    const mark = '86402.5';
    const outcome = await inside(`sleep ${mark} & setsid sleep ${mark} & echo first; wait`, { timeoutMs: 1000 });
    assert.deepEqual([outcome.kind, outcome.stdout], ['timed_out', 'first\n']);
    await gone(`sleep\0${mark}`);
  });

  test('an interruption ends a command at once', async () => {
    const mark = '86403.5';
    const interruption = new AbortController();
    setTimeout(() => interruption.abort(), 300);
    const outcome = await inside(`sleep ${mark}`, { signal: interruption.signal });
    assert.equal(outcome.kind, 'aborted');
    await gone(`sleep\0${mark}`);
  });

  test('a command that prints 1 GB is cut, keeps its end, and memory stays flat', async () => {
    await inside('true');
    const before = process.memoryUsage.rss();
    let highest = before;
    const watch = setInterval(() => {
      highest = Math.max(highest, process.memoryUsage.rss());
    }, 20);
    const outcome = await inside('echo the start; head -c 1000000000 /dev/zero | tr "\\0" x; echo; echo the end', {
      timeoutMs: 120_000,
    });
    clearInterval(watch);
    assert.equal(outcome.kind, 'exited');
    assert.ok(outcome.stdout.startsWith('the start\nxxx'));
    assert.ok(outcome.stdout.endsWith('xxx\nthe end\n'));
    assert.ok(outcome.stdout.length < 8400);
    assert.ok(outcome.droppedBytes > 999_000_000);
    assert.ok(highest - before < 150_000_000, `${(highest - before) / 1e6} MB more`);
  });
});

test('without bubblewrap nothing is run, and the reason says what is missing', async () => {
  const empty = mkdtempSync(join(tmpdir(), 'svc-no-bwrap-'));
  try {
    const none = createSandbox(empty);
    assert.match((await none.problem()) ?? '', /not installed|needs Linux/);
    const outcome = await none.run({
      command: `touch ${empty}/ran`,
      folder: empty,
      timeoutMs: 1000,
      maxOutputBytes: 100,
      signal: never,
      network: false,
    });
    assert.equal(outcome.kind, 'not_started');
    assert.deepEqual(readdirSync(empty), []);
  } finally {
    rmSync(empty, { recursive: true, force: true });
  }
});

test('a bubblewrap that fails is found out before anything is run', async () => {
  const folderOfFake = mkdtempSync(join(tmpdir(), 'svc-bad-bwrap-'));
  try {
    const fake = '#!/bin/sh\necho "No permissions to create a new namespace" >&2\nexit 1\n';
    writeFileSync(join(folderOfFake, 'bwrap'), fake, { mode: 0o755 });
    const reason = await createSandbox(folderOfFake).problem();
    assert.match(reason ?? '', process.platform === 'linux' ? /does not work here.*No permissions/ : /needs Linux/);
  } finally {
    rmSync(folderOfFake, { recursive: true, force: true });
  }
});

test('an unconfined command gets a clean environment too', async () => {
  const environment = { ...process.env, OPENAI_API_KEY: 'hunter2' };
  const outcome = await runUnconfined(
    { command: 'env', folder: tmpdir(), timeoutMs: 10_000, maxOutputBytes: 8192, signal: never },
    environment,
  );
  assert.equal(outcome.kind, 'exited');
  assert.ok(outcome.kind === 'exited' && outcome.stdout.includes('PATH='));
  assert.ok(outcome.kind === 'exited' && !outcome.stdout.includes('hunter2'));
});
