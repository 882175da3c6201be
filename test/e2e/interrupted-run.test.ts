import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { openStore } from '../../src/store/open.ts';
import { enqueueRun, getRun } from '../../src/store/runs.ts';
import { type ModelServer, type SeenRequest, startModelServer } from '../support/model-server.ts';
import { newRun } from '../support/new-run.ts';
import { createSvcHome, type SvcHome } from '../support/svc.ts';
import { until } from '../support/until.ts';

// The whole program with a real agent: two tool calls, then the gateway ends while the model thinks about its answer.

const homes: SvcHome[] = [];
const servers: ModelServer[] = [];
after(async () => {
  await Promise.all(homes.map((home) => home.remove()));
  await Promise.all(servers.map((server) => server.close()));
});

const writes = (path: string) => ({ toolCalls: [{ name: 'write_file', arguments: { path, content: 'x' } }] });
const never = { raw: () => new Promise<void>(() => {}) };

function answerTo({ number }: SeenRequest) {
  if (number === 1) return writes('first.txt');
  if (number === 2) return writes('second.txt');
  return number === 3 ? never : { text: 'Both files are written.' };
}

async function inTheMiddleOfARun() {
  const server = await startModelServer(answerTo);
  const home = createSvcHome();
  servers.push(server);
  homes.push(home);
  home.configure(`model: { provider: openai-compatible, name: scripted, base_url: "${server.url}" }\n`);
  const gateway = await home.startGateway();
  const store = await openStore({ file: join(home.path, 'svc.db') }, { mode: 'inline' });
  const run = newRun({ createdAt: Date.now(), prompt: 'Write two files.' });
  await store.write(enqueueRun({ ...run, settings: { ...run.settings, toolsets: ['files'] } }));
  await until(() => server.requests.length === 3);
  return { home, gateway, store, server, id: run.id };
}

type Middle = Awaited<ReturnType<typeof inTheMiddleOfARun>>;

async function goesOnWithoutRepeating({ home, store, server, id }: Middle): Promise<void> {
  const next = await home.startGateway();
  const run = await until(async () => {
    const found = await store.read(getRun({ id }));
    return found?.state === 'delivered' && found;
  });
  assert.equal(run.answer, 'Both files are written.');
  const asked = server.requests.map(({ body }) => body.messages.map(({ role }) => role).join(' '));
  assert.deepEqual(asked, [
    'system user',
    'system user assistant tool',
    'system user assistant tool assistant tool',
    'system user assistant tool assistant tool',
  ]);
  assert.equal(await next.end(), 0);
  await store.close();
}

describe('a run in the middle of its work survives the end of the gateway', { concurrency: true }, () => {
  test('after kill -9 it goes on where it was: no answer is asked for twice, no tool is called twice', async () => {
    const middle = await inTheMiddleOfARun();
    await middle.gateway.end('SIGKILL');
    assert.equal((await middle.store.read(getRun({ id: middle.id })))?.state, 'running');
    await goesOnWithoutRepeating(middle);
  });

  test('after SIGTERM it is queued again, and goes on at the next start', async () => {
    const middle = await inTheMiddleOfARun();
    assert.equal(await middle.gateway.end('SIGTERM'), 0);
    assert.equal((await middle.store.read(getRun({ id: middle.id })))?.state, 'queued');
    await goesOnWithoutRepeating(middle);
  });
});
