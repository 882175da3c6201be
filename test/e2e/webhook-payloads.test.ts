// Real payloads: every example that GitHub publishes, and five kinds of GitLab written from its field lists, through the
// routes that the README shows.

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import { SECRET, startTestGateway, type TestGateway, type TestRoutes } from '../support/gateway.ts';
import { gitlabPayloads } from '../support/gitlab-payloads.ts';
import { startModelServer } from '../support/model-server.ts';
import { tempFolder } from '../support/temp-folder.ts';

const readme = readFileSync(resolve(import.meta.dirname, '../../README.md'), 'utf8');
const [, yaml = ''] = /```yaml\n(platforms:[\s\S]*?)```/.exec(readme) ?? [];
const shown: TestRoutes = parse(yaml).platforms.webhook.extra.routes;

// The package is one JSON file; its own types are those of single payloads.
const examples: readonly { name: string; examples: unknown[] }[] = createRequire(import.meta.url)(
  '@octokit/webhooks-examples',
);
const payloads = examples.flatMap(({ name, examples: bodies }) => bodies.map((body) => ({ event: name, body })));
const home = tempFolder();
const ghLog = join(home, 'gh.log');

let gateway: TestGateway;
let model: Awaited<ReturnType<typeof startModelServer>>;
before(async () => {
  model = await startModelServer(({ body }) => ({
    text: `Read ${String(body.messages.at(-1)?.content).length} characters.`,
  }));
  const bin = join(home, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'gh'), `#!/bin/sh\nprintf '%s ' "$@" >> ${ghLog}\ncat >> ${ghLog}\necho ok\n`);
  chmodSync(join(bin, 'gh'), 0o700);
  gateway = await startTestGateway({
    home,
    routes: { ...shown, plain: {} },
    extra: { rate_limit: 100_000 },
    env: { PATH: `${bin}:${process.env.PATH}` },
    config: { model: { provider: 'openai-compatible', base_url: model.url, name: 'test' }, runs: { concurrency: 2 } },
  });
});
after(async () => {
  await gateway[Symbol.asyncDispose]();
  await model.close();
});

test('every example payload of GitHub is answered 200, with and without a template', async () => {
  assert.ok(payloads.length > 200, `${payloads.length} payloads`);
  await using busy = await startTestGateway({
    routes: { plain: {}, shown: { prompt: shown?.github?.prompt } },
    extra: { rate_limit: 100_000 },
    config: { runs: { concurrency: 0 } },
  });
  for (const route of ['plain', 'shown']) {
    const replies = await Promise.all(payloads.map(({ event, body }) => busy.send(route, { event, body })));
    for (const [index, { status, json }] of replies.entries()) {
      const event = payloads[index]?.event;
      assert.equal(status, 200);
      assert.deepEqual([json.status, json.event], [event === 'ping' ? 'ignored' : 'accepted', event]);
    }
  }
  const events = await busy.events('plain');
  assert.equal(
    events.filter((event) => event.verdict === 'accepted').length,
    payloads.filter(({ event }) => event !== 'ping').length,
  );
});

const TEN = [
  'push',
  'issues',
  'issue_comment',
  'release',
  'check_run',
  'workflow_run',
  'star',
  'fork',
  'deployment',
  'discussion',
];

test('ten kinds of GitHub events go through the route of the README to their delivery', async () => {
  for (const event of TEN) {
    const body = payloads.find((payload) => payload.event === event)?.body as { repository?: { full_name: string } };
    const { json } = await gateway.send('github', { event, body });
    assert.equal(json.status, 'accepted', event);
    const run = await gateway.endedRun('github');
    assert.equal(run.state, 'delivered', run.error);
    assert.match(run.prompt, new RegExp(` in ${body.repository?.full_name} by `));
    assert.match(run.answer ?? '', /^Read \d+ characters\.$/);
    const file = readFileSync(run.deliveries[0]?.receipt ?? '', 'utf8');
    assert.ok(file.includes(run.answer ?? '-'));
  }
});

test('a pull request of GitHub ends as a comment on it', async () => {
  const body = payloads.find((payload) => payload.event === 'pull_request')?.body as {
    pull_request: { number: number; title: string };
    repository: { full_name: string };
  };
  await gateway.send('pull-requests', { event: 'pull_request', body });
  const run = await gateway.endedRun('pull-requests');
  assert.equal(run.state, 'delivered', run.error);
  assert.ok(run.prompt.includes(body.pull_request.title));
  const called = readFileSync(ghLog, 'utf8');
  assert.ok(called.includes(`repos/${body.repository.full_name}/issues/${body.pull_request.number}/comments`), called);
});

test('five kinds of GitLab events go through the route of the README to their delivery', async () => {
  for (const [header, body] of gitlabPayloads) {
    const { json } = await gateway.send('gitlab', {
      body,
      secret: false,
      headers: { 'X-Gitlab-Event': header, 'X-Gitlab-Token': SECRET, 'X-Request-ID': header },
    });
    assert.deepEqual([json.status, json.event], ['accepted', header]);
    const run = await gateway.endedRun('gitlab');
    assert.equal(run.state, 'delivered', run.error);
    assert.match(run.prompt, new RegExp(`^${body.object_kind} in ${body.project.path_with_namespace}: `));
  }
});
