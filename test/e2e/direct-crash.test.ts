// A direct delivery that a crash cuts off: its sender heard nothing, so its next try must go through.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendTo } from '../support/gateway.ts';
import { startHttpDouble } from '../support/http-double.ts';
import { createSvcHome } from '../support/svc.ts';
import { until } from '../support/until.ts';

test('after kill -9 in the middle of a direct delivery the same id is delivered, not called a duplicate', async () => {
  let answers = false;
  await using ntfy = await startHttpDouble(() => (answers ? { json: { id: 'm1' } } : { silent: true }));
  const home = createSvcHome();
  try {
    home.configure(`platforms:
  webhook:
    enabled: true
    extra:
      routes: { alert: { secret: s, deliver_only: true, deliver: "ntfy:ops", prompt: "{text}" } }
  ntfy: { enabled: true, extra: { base_url: "${ntfy.url}" } }
`);
    const event = { secret: 's', id: 'cut-off', body: { text: 'fire' } };
    const first = await home.startGateway();
    const cut = sendTo(`${first.url}/webhooks/alert`, event).catch(() => 'cut');
    await until(() => ntfy.requests.length === 1);
    await first.end('SIGKILL');
    assert.equal(await cut, 'cut');

    answers = true;
    const second = await home.startGateway();
    const reply = await sendTo(`${second.url}/webhooks/alert`, event);
    assert.deepEqual([reply.status, reply.json.status], [200, 'delivered']);
    const listed = JSON.parse((await home.svc(['webhook', 'events', '--json'])).stdout) as { verdict: string }[];
    assert.deepEqual(
      listed.map(({ verdict }) => verdict),
      ['delivered', 'unknown'],
    );
  } finally {
    await home.remove();
  }
});
