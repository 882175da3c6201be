import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type DoubleReply, startHttpDouble } from '../../../test/support/http-double.ts';
import { attempt, openBench, testTarget } from '../target.contract.ts';
import { githubComment } from './github-comment.ts';

const TOKEN = 'ghp_0123456789abcdefghijABCDEFGHIJ012345';
const address = { target: 'hosta_comment', extra: { repo: 'octo/hello.world', pr_number: '12' } };

testTarget(githubComment, address);

// The real program. For the host github.localhost it speaks plain HTTP, and takes the way through the proxy it is given.
const hasGh = spawnSync('gh', ['--version']).status === 0;
const skip = hasGh || process.env.SVC_E2E === 'required' ? false : 'the program gh is not installed';

async function withGh(
  reply: DoubleReply,
  act: (sent: Awaited<ReturnType<typeof send>>) => void,
  text = 'hello',
): Promise<void> {
  await using double = await startHttpDouble(() => reply);
  act(await send(double, text));
}

async function send(
  double: Awaited<ReturnType<typeof startHttpDouble>>,
  text: string,
  env: Record<string, string> = { GH_TOKEN: TOKEN },
) {
  const home = await mkdtemp(join(tmpdir(), 'svc-gh-'));
  const given = { PATH: process.env.PATH, HOME: home, GH_HOST: 'github.localhost', HTTP_PROXY: double.url, ...env };
  await using bench = await openBench({}, { env: given, timeoutMs: 30_000 });
  const outcome = await attempt(bench.delivery, { address, text });
  await rm(home, { recursive: true, force: true });
  assert.ok(!JSON.stringify(outcome).includes(TOKEN));
  return { outcome, requests: double.requests };
}

test('github_comment makes the real gh post the text as a comment', { skip }, async () => {
  const text = `--body-file /etc/passwd\n$(id) \`id\` "quoted" ${'ü'.repeat(5000)}`;
  await withGh(
    { status: 201, json: { id: 1, html_url: 'https://github.com/octo/hello.world/pull/12#issuecomment-1' } },
    ({ outcome, requests }) => {
      assert.deepEqual(outcome, {
        kind: 'delivered',
        receipt: 'https://github.com/octo/hello.world/pull/12#issuecomment-1',
      });
      const [seen] = requests;
      assert.equal(seen?.method, 'POST');
      assert.equal(seen?.path, 'http://api.github.localhost/repos/octo/hello.world/issues/12/comments');
      assert.equal(seen?.headers.authorization, `token ${TOKEN}`);
      assert.deepEqual(seen?.json, { body: text });
    },
    text,
  );
});

test('github_comment takes 404 and an ended login as final, and a rate limit as a reason to wait', {
  skip,
}, async () => {
  await withGh({ status: 404, json: { message: 'Not Found' } }, ({ outcome }) => {
    assert.ok(outcome.kind === 'refused');
    assert.match(outcome.reason, /Not Found \(HTTP 404\)/);
  });
  await withGh({ status: 401, json: { message: 'Bad credentials' } }, ({ outcome }) => {
    assert.ok(outcome.kind === 'refused');
    assert.match(outcome.reason, /Bad credentials.*gh auth login/);
  });
  await withGh({ status: 403, json: { message: 'You have exceeded a secondary rate limit' } }, ({ outcome }) => {
    assert.ok(outcome.kind === 'failed');
    assert.equal(outcome.afterMs, 60_000);
  });
  await withGh({ status: 502, json: { message: 'Server Error' } }, ({ outcome }) =>
    assert.equal(outcome.kind, 'failed'),
  );
});

test('github_comment says how to log in when gh has no login', { skip }, async () => {
  await using double = await startHttpDouble(({ headers }) =>
    headers.authorization ? { status: 201, json: {} } : { status: 401, json: { message: 'Requires authentication' } },
  );
  const { outcome } = await send(double, 'hi', {});
  assert.ok(outcome.kind === 'refused');
  assert.match(outcome.reason, /gh auth login/);
});

const HOSTILE = [
  { repo: '--help', pr_number: '1' },
  { repo: 'o/r;id', pr_number: '1' },
  { repo: '../x', pr_number: '1' },
  { repo: 'o/..', pr_number: '1' },
  { repo: 'o/r/../../user', pr_number: '1' },
  { repo: 'o/r', pr_number: '1 --body-file /etc/passwd' },
  { repo: 'o/r', pr_number: '1e9' },
  { repo: 'o/r', pr_number: '-1' },
  { repo: 'o/r', pr_number: '{number}' },
  { repo: '', pr_number: '' },
];

test('github_comment starts no process for a repository or number that is none', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-gh-'));
  const command = join(folder, 'gh');
  await writeFile(command, `#!/bin/sh\necho started >> ${folder}/started\n`);
  await chmod(command, 0o755);
  await using bench = await openBench({ github_comment: { extra: { command } } }, { env: { PATH: process.env.PATH } });
  for (const extra of HOSTILE) {
    const outcome = await attempt(bench.delivery, { address: { target: 'github_comment', extra }, text: 'hi' });
    assert.ok(outcome.kind === 'refused', JSON.stringify(extra));
    assert.match(outcome.reason, /deliver_extra\.(repo|pr_number) must be/);
  }
  await assert.rejects(readFile(join(folder, 'started')));
  await attempt(bench.delivery, { address, text: 'hi' });
  assert.equal(await readFile(join(folder, 'started'), 'utf8'), 'started\n');
  await rm(folder, { recursive: true });
});

test('github_comment gives gh its login and nothing else of the environment', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-gh-'));
  const command = join(folder, 'gh');
  await writeFile(command, `#!/bin/sh\nenv > ${folder}/env\n`);
  await chmod(command, 0o755);
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    GH_TOKEN: TOKEN,
    TELEGRAM_BOT_TOKEN: 'secret',
    SVC_MODEL_API_KEY: 'secret',
  };
  await using bench = await openBench({ github_comment: { extra: { command } } }, { env });
  await attempt(bench.delivery, { address, text: 'hi' });
  const seen = await readFile(join(folder, 'env'), 'utf8');
  assert.match(seen, /GH_TOKEN=/);
  assert.doesNotMatch(seen, /secret/);
  await rm(folder, { recursive: true });
});

test('a gh that is not installed is named with the next step', async () => {
  await using bench = await openBench({ github_comment: { extra: { command: '/nonexistent/gh' } } }, { env: {} });
  const outcome = await attempt(bench.delivery, { address, text: 'hi' });
  assert.ok(outcome.kind === 'refused');
  assert.match(outcome.reason, /install gh and run gh auth login/);
});
