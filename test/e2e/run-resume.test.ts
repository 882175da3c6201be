// The whole way of an event, with the gateway killed in the middle of the third tool call: nothing is lost, nothing is
// done twice, one message goes out.

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createSandbox } from '../../src/system/sandbox.ts';
import { startHttpDouble } from '../support/http-double.ts';
import { type SeenRequest, startModelServer } from '../support/model-server.ts';
import { createSvcHome } from '../support/svc.ts';
import { until } from '../support/until.ts';

const why = await createSandbox(process.env.PATH).problem();
if (why !== undefined && process.env.SVC_E2E === 'required') throw new Error(why);

const home = createSvcHome();
after(() => home.remove());

const call = (id: string, command: string) => ({ toolCalls: [{ id, name: 'terminal', arguments: { command } }] });
const MARK = '86411.25';

/** What the agent does depends only on what it has been told so far, as with a real model. */
function scripted({ body }: SeenRequest) {
  const results = body.messages.filter((message) => message.role === 'tool');
  if (results.length === 0) return call('c1', 'echo one >> journal');
  if (results.length === 1) return call('c2', 'echo two >> journal');
  if (results.length === 2) return call('c3', `echo three >> journal; touch third; sleep ${MARK}`);
  return { text: `Finished. The third call: ${String(results[2]?.content).split(':')[0]}.` };
}

test('a run killed with -9 in its third tool call resumes and ends with one delivery', {
  skip: why,
  timeout: 120_000,
}, async () => {
  const model = await startModelServer(scripted);
  await using target = await startHttpDouble(() => ({ json: {} }));
  home.configure(`
model: { base_url: '${model.url}', name: scripted }
delivery: { allow_private: true }
platforms:
  outgoing_webhook: { enabled: true, token: whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz }
  webhook:
    enabled: true
    extra:
      host: 127.0.0.1
      secret: INSECURE_NO_AUTH
      routes:
        events: { prompt: 'Handle {what}', deliver: 'webhook:${target.url}/in' }
`);
  try {
    const first = await home.startGateway();
    const accepted = await fetch(`${first.url}/webhooks/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': 'event-1' },
      body: '{"what": "this", "event_type": "alert"}',
    });
    assert.equal(accepted.status, 200);
    const work = join(home.path, 'work');
    const runId = await until(
      () => existsSync(work) && readdirSync(work).find((name) => existsSync(join(work, name, 'third'))),
    );
    await first.end('SIGKILL');
    assert.equal(readFileSync(join(work, runId, 'journal'), 'utf8'), 'one\ntwo\nthree\n');
    await until(() => sleepers() === 0);

    const second = await home.startGateway();
    await until(() => target.requests.length > 0);
    const shown = await home.svc(['runs', 'show', runId, '--json']);
    assert.equal(shown.code, 0, shown.stderr);
    await until(async () =>
      (await home.svc(['runs', 'list', '--state', 'delivered', '--json'])).stdout.includes(runId),
    );
    await second.end();

    assert.equal(target.requests.length, 1);
    assert.match(target.requests[0]?.text ?? '', /Finished\. The third call: Outcome unknown\./);
    // Three calls before the kill, one after it: no step was asked for twice.
    assert.equal(model.requests.length, 4);
    const told = model.requests[3]?.body.messages.filter((message) => message.role === 'tool') ?? [];
    assert.deepEqual(
      told.map((message) => message.tool_call_id),
      ['c1', 'c2', 'c3'],
    );
    assert.equal(existsSync(join(work, runId)), false);
  } finally {
    await model.close();
  }
});

/** Processes of the third call that are still there. */
function sleepers(): number {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `sleep\0${MARK}\0`;
    } catch {
      return false;
    }
  }).length;
}
