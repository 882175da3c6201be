// Contract: "Events".

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
before(async () => {
  gateway = await startTestGateway({
    routes: {
      hosta: { events: ['pull_request', 'push', 'issues', 'check_run'] },
      hostb_header: { events: ['Merge Request Hook', 'Push Hook', 'Pipeline Hook'] },
      hostb_id: { events: ['merge_request', 'push', 'pipeline', 'build'] },
      generic: { events: ['deployment', 'alert'] },
      all: {},
      ping: { events: ['ping'] },
    },
    extra: { rate_limit: 10_000 },
  });
});
after(() => gateway[Symbol.asyncDispose]());

const statusOf = async (route: string, headers: Record<string, string>, body: unknown = {}) =>
  (await gateway.send(route, { headers, body })).json.status;

test('hosta: the header value is matched as it is', async () => {
  for (const event of ['pull_request', 'push', 'issues', 'check_run'])
    assert.equal(await statusOf('hosta', { 'X-HostA-Event': event }), 'accepted');
  for (const event of ['ping', 'Push', 'pull_request_review', 'Push Hook'])
    assert.equal(await statusOf('hosta', { 'X-HostA-Event': event }), 'ignored', event);
});

test('hostb: a route may list header values or identifiers, both match', async () => {
  for (const [header, route] of [
    ['Merge Request Hook', 'hostb_header'],
    ['Push Hook', 'hostb_header'],
    ['Pipeline Hook', 'hostb_header'],
    ['Merge Request Hook', 'hostb_id'],
    ['Push Hook', 'hostb_id'],
    ['Pipeline Hook', 'hostb_id'],
    ['merge_request', 'hostb_id'],
    ['merge_request', 'hostb_header'],
  ] as const)
    assert.equal(await statusOf(route, { 'X-HostB-Event': header }), 'accepted', `${header} on ${route}`);
  assert.equal(await statusOf('hostb_id', { 'X-Gitlab-Event': 'Job Hook' }, { object_kind: 'build' }), 'accepted');
  assert.equal(await statusOf('hostb_id', { 'X-HostB-Event': 'Note Hook' }), 'ignored');
});

test('generic: the payload field event_type names the event', async () => {
  assert.equal(await statusOf('generic', {}, { event_type: 'deployment' }), 'accepted');
  assert.equal(await statusOf('generic', {}, { event_type: 'other' }), 'ignored');
  for (const event_type of [['alert'], 7, '', null])
    assert.equal(await statusOf('generic', {}, { event_type }), 'ignored');
  assert.equal(await statusOf('generic', {}), 'ignored');
});

test('an empty list accepts all events; the greeting of the code host starts nothing unless it is listed', async () => {
  assert.equal(await statusOf('all', { 'X-HostA-Event': 'anything' }), 'accepted');
  assert.equal(await statusOf('all', { 'X-HostB-Event': 'Any Hook' }), 'accepted');
  assert.equal(await statusOf('all', {}, { event_type: 'ping' }), 'accepted');
  assert.equal(await statusOf('all', { 'X-HostA-Event': 'ping' }), 'ignored');
  assert.equal(await statusOf('ping', { 'X-HostA-Event': 'ping' }), 'accepted');
});

test('each accepted POST starts one run and yields a delivery id', async () => {
  const before = (await gateway.events('all')).filter((event) => event.verdict === 'accepted').length;
  const { json } = await gateway.send('all', { body: { n: 1 } });
  assert.match(String(json.delivery_id), /^\d{13}/);
  const accepted = (await gateway.events('all')).filter((event) => event.verdict === 'accepted');
  assert.equal(accepted.length, before + 1);
  assert.equal((await gateway.endedRun('all')).source.ref, accepted[0]?.id);
});
