// Contract: "Webhook route", every property of the table, and the further keys of a route.

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startTestGateway } from '../support/gateway.ts';
import { startModelServer } from '../support/model-server.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { until } from '../support/until.ts';

test('events, secret, prompt, deliver and deliver_extra of a static route are in force', async () => {
  await using gateway = await startTestGateway({
    routes: {
      issues: {
        events: ['issues'],
        secret: 'its-own',
        prompt: 'Issue {issue.number}',
        deliver: 'local',
        deliver_extra: { chat_id: '{issue.number}', thread_id: '7', subject: 'x' },
      },
      threads: { deliver: 'local', deliver_extra: { message_thread_id: '9' } },
    },
    config: { runs: { concurrency: 0 } },
  });
  const body = { issue: { number: 3 } };
  assert.equal((await gateway.send('issues', { event: 'push', secret: 'its-own', body })).json.status, 'ignored');
  assert.equal((await gateway.send('issues', { event: 'issues', body })).status, 401);
  assert.equal((await gateway.send('issues', { event: 'issues', secret: 'its-own', body })).json.status, 'accepted');
  const run = await gateway.newestRun('issues');
  assert.equal(run.prompt, 'Issue 3');
  assert.equal(run.settings.instructions, 'Issue {issue.number}');
  assert.deepEqual(run.addresses, [{ target: 'local', chatId: '3', threadId: '7', extra: { subject: 'x' } }]);
  await gateway.send('threads');
  assert.deepEqual((await gateway.newestRun('threads')).addresses, [{ target: 'local', threadId: '9' }]);
});

test('deliver defaults to log: the whole answer is one line of the gateway log', async () => {
  await using gateway = await startTestGateway({ routes: { a: { prompt: 'Hello {name}' } } });
  await gateway.send('a', { body: { name: 'Ann' } });
  const run = await gateway.endedRun('a');
  assert.equal(run.state, 'delivered');
  const line = await until(() => gateway.logs().find((candidate) => candidate.text === run.answer));
  assert.ok(line.message.length > 0);
});

test('skills: only the first one that is found is loaded', async () => {
  const home = tempFolder();
  for (const name of ['first-skill', 'second-skill']) {
    const folder = join(home, 'skills', name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'SKILL.md'), `---\nname: ${name}\ndescription: A test.\n---\nWords of ${name}.\n`);
  }
  const model = await startModelServer([{ text: 'done' }]);
  try {
    await using gateway = await startTestGateway({
      home,
      routes: { a: { skills: ['missing-skill', 'first-skill', 'second-skill'] } },
      config: { model: { provider: 'openai-compatible', base_url: model.url, name: 'test' } },
    });
    await gateway.send('a');
    assert.equal((await gateway.endedRun('a')).answer, 'done');
    const asked = JSON.stringify(model.requests[0]?.body.messages);
    assert.match(asked, /Words of first-skill/);
    assert.doesNotMatch(asked, /Words of second-skill/);
  } finally {
    await model.close();
  }
});

test('deliver_only skips the agent', async () => {
  await using gateway = await startTestGateway({
    routes: { a: { deliver_only: true, deliver: 'local', prompt: 'Just {this}', skills: ['missing'] } },
  });
  const { json } = await gateway.send('a', { body: { this: 'text' }, id: 'x' });
  assert.deepEqual(json, { status: 'delivered', route: 'a', target: 'local', delivery_id: 'x' });
  const folder = join(gateway.home, 'deliveries', 'a');
  const [file = ''] = readdirSync(folder);
  assert.match(readFileSync(join(folder, file), 'utf8'), /Just text/);
  assert.equal((await gateway.events('a'))[0]?.runId, undefined);
});

test('toolsets, model, timeout_s, concurrency and serial_key are fixed when the run is queued', async () => {
  await using gateway = await startTestGateway({
    routes: {
      a: { toolsets: ['files'], model: 'other', timeout_s: 5, concurrency: 2 },
      b: { serial_key: '{repository.name}' },
    },
    config: { runs: { concurrency: 0 } },
  });
  await gateway.send('a', { body: { toolsets: ['terminal'], model: 'evil' } });
  const { settings, limit } = await gateway.newestRun('a');
  assert.deepEqual([settings.toolsets, settings.model, settings.timeoutMs], [['files'], 'other', 5000]);
  assert.deepEqual(limit, { key: 'route a', max: 2 });
  await gateway.send('b', { body: { repository: { name: 'r' } } });
  assert.equal((await gateway.newestRun('b')).serialKey, 'b r');
});

test('filters decide over payload, event and headers; what they refuse is answered 200 and stored as filtered', async () => {
  await using gateway = await startTestGateway({
    routes: {
      a: {
        filters: [
          { field: 'payload.action', equals: 'opened' },
          {
            any: [
              { field: 'labels', contains: 'bug' },
              { field: 'event', equals: 'urgent' },
            ],
          },
          { not: { field: 'sender.login', in: ['bot', 'robot'] } },
          { field: 'title', regex: '^[A-Z]' },
          { field: 'draft', missing: true },
          { field: 'headers.X-Team', exists: true },
          { field: 'n', not_equals: 6 },
        ],
      },
    },
    extra: { rate_limit: 1000 },
  });
  const good = { action: 'opened', labels: ['bug'], sender: { login: 'ann' }, title: 'Title', n: 5 };
  const send = (body: unknown, headers: Record<string, string> = { 'x-team': 'core' }) =>
    gateway.send('a', { body, headers });
  assert.equal((await send(good)).json.status, 'accepted');
  const refused: [unknown, Record<string, string>?][] = [
    [{ ...good, action: 'closed' }],
    [{ ...good, labels: [] }],
    [{ ...good, sender: { login: 'bot' } }],
    [{ ...good, title: 'lower' }],
    [{ ...good, draft: true }],
    [{ ...good, n: 6 }],
    [good, {}],
  ];
  for (const [body, headers] of refused) {
    const { status, json } = await send(body, headers);
    assert.deepEqual([status, json.status, json.reason], [200, 'ignored', 'filter'], JSON.stringify(body));
  }
  const stored = await until(async () => {
    const events = await gateway.events('a');
    return events.length === refused.length + 1 && events;
  });
  assert.equal(stored.filter((event) => event.verdict === 'filtered').length, refused.length);
});

test('cron_job starts the scheduled job instead of a run of its own, once per delivery id', async () => {
  await using gateway = await startTestGateway({ routes: { a: { cron_job: 'nightly' }, b: { cron_job: 'nobody' } } });
  const { jobs } = await gateway.gateway.app.jobs();
  await jobs.create({ schedule: '0 3 * * *', prompt: 'Report', name: 'nightly', deliver: 'local' }, { kind: 'person' });
  const { status, json } = await gateway.send('a', { id: 'once', event: 'push' });
  assert.equal(status, 200);
  assert.deepEqual(json, { status: 'accepted', route: 'a', event: 'push', delivery_id: 'once', cron_job: 'nightly' });
  const run = await gateway.endedRun('a');
  assert.equal(run.source.kind, 'job');
  assert.equal((await gateway.send('a', { id: 'once', event: 'push' })).json.status, 'duplicate');
  const refused = await gateway.send('b', { id: 'x' });
  assert.deepEqual([refused.status, refused.json.error], [502, 'Job could not be started']);
});

test('dedupe_body: an equal body within the hour is a duplicate, whatever its delivery id', async () => {
  await using gateway = await startTestGateway({ routes: { a: { dedupe_body: true }, b: {} } });
  assert.equal((await gateway.send('a', { id: '1', body: { x: 1 } })).json.status, 'accepted');
  assert.equal((await gateway.send('a', { id: '2', body: { x: 1 } })).json.status, 'duplicate');
  assert.equal((await gateway.send('a', { id: '3', body: { x: 2 } })).json.status, 'accepted');
  assert.equal((await gateway.send('b', { id: '1', body: { x: 1 } })).json.status, 'accepted');
  assert.equal((await gateway.send('b', { id: '2', body: { x: 1 } })).json.status, 'accepted');
});
