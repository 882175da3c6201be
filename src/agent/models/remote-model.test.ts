import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { chunk, DONE, type Script, type ScriptedReply, SSE_HEADERS } from '../../../test/support/model-server.ts';
import { cut, failed, never, silent, textOf, trial } from '../../../test/support/model-trial.ts';

const adder = { name: 'add', description: 'Adds.', input: z.object({ a: z.number(), b: z.number() }) };

test('the socket clock fires when the headers never come, and names its variable', async (t) => {
  const { ask, server } = await trial(t, [{ delayMs: never }], { env: { SVC_STREAM_READ_TIMEOUT: '0.3' } });
  const { reason, help, transient } = failed(await ask());
  assert.match(reason, /sent nothing for 0.3 s \(stream read timeout\)/);
  assert.match(help ?? '', /SVC_STREAM_READ_TIMEOUT/);
  assert.equal(transient, true);
  assert.equal(server.requests.length, 1);
});

test('the socket clock fires when a stream falls silent in the middle', async (t) => {
  const { ask, shown } = await trial(t, [silent(chunk({ content: 'Hel' }))], {
    env: { SVC_STREAM_READ_TIMEOUT: '0.3' },
  });
  assert.match(failed(await ask()).reason, /stream read timeout/);
  assert.deepEqual(shown, ['Hel']);
});

test('keep-alive comments keep the socket clock quiet and do not move the stale clock', async (t) => {
  const pings: ScriptedReply = {
    raw: async (response) => {
      response.writeHead(200, SSE_HEADERS);
      response.write(chunk({ content: 'Hel' }));
      for (let i = 0; i < 600 && !response.destroyed; i += 1) {
        response.write(': ping\n\n');
        await sleep(50);
      }
    },
  };
  const env = { SVC_STREAM_READ_TIMEOUT: '1', SVC_STREAM_STALE_TIMEOUT: '2' };
  const { ask } = await trial(t, [pings], { env });
  const { reason, help } = failed(await ask());
  assert.match(reason, /sent no data for 2 s \(stale stream timeout\)/);
  assert.match(help ?? '', /SVC_STREAM_STALE_TIMEOUT/);
});

test('the stale clock is off for a local server: comments alone are borne', async (t) => {
  const late: ScriptedReply = {
    raw: async (response) => {
      response.writeHead(200, SSE_HEADERS);
      for (let i = 0; i < 10; i += 1) {
        response.write(': ping\n\n');
        await sleep(20);
      }
      response.write(chunk({ content: 'at last' }, 'stop') + DONE);
    },
  };
  const { ask } = await trial(t, [late]);
  assert.equal(textOf(await ask()), 'at last');
});

test('data moves the stale clock, however slowly the whole answer comes', async (t) => {
  const { ask } = await trial(t, [{ text: 'a b c d e f', pieceDelayMs: 250 }], {
    env: { SVC_STREAM_STALE_TIMEOUT: '1.5' },
  });
  assert.equal(textOf(await ask()), 'a b c d e f');
});

test('a server that refuses to stream is asked again without, and the call clock then holds for the whole call', async (t) => {
  const script: Script = ({ body }) =>
    body.stream
      ? { status: 400, body: '{"error":{"message":"Streaming is not supported by this server"}}' }
      : { text: 'in one piece' };
  const { ask, server, shown } = await trial(t, script);
  assert.equal(textOf(await ask()), 'in one piece');
  assert.equal(textOf(await ask()), 'in one piece');
  assert.deepEqual(
    server.requests.map(({ body }) => body.stream ?? false),
    [true, false, false],
  );
  assert.deepEqual(shown, ['in one piece', 'in one piece']);
  assert.equal(server.requests[1]?.body.max_tokens, 77);
});

test('the call clock ends a call without streaming and names its variable', async (t) => {
  const script: Script = ({ body }) => (body.stream ? { status: 501 } : { delayMs: never });
  const { ask } = await trial(t, script, { env: { SVC_API_TIMEOUT: '0.4', SVC_STREAM_READ_TIMEOUT: '0.1' } });
  const { reason, help } = failed(await ask());
  assert.match(reason, /within 0.4 s \(API timeout\)/);
  assert.match(help ?? '', /SVC_API_TIMEOUT/);
});

test('a server that does not know stream_options is asked without', async (t) => {
  const script: Script = ({ body }) =>
    'stream_options' in body
      ? { status: 422, body: '{"detail":"extra fields not permitted: stream_options"}' }
      : { text: 'ok' };
  const { ask, server } = await trial(t, script);
  assert.equal(textOf(await ask()), 'ok');
  assert.equal(server.requests.length, 2);
});

test('a server that wants the token limit under its new name gets it so', async (t) => {
  const script: Script = ({ body }) =>
    'max_tokens' in body
      ? {
          status: 400,
          body: '{"error":{"message":"Unsupported parameter: max_tokens. Use max_completion_tokens instead."}}',
        }
      : { text: 'ok' };
  const { ask, server } = await trial(t, script);
  assert.equal(textOf(await ask()), 'ok');
  assert.equal(Reflect.get(server.requests[1]?.body ?? {}, 'max_completion_tokens'), 77);
});

test('a model that cannot use tools answers without them, and says so', async (t) => {
  const script: Script = ({ body }) =>
    body.tools ? { status: 400, body: '{"error":{"message":"gemma does not support tools"}}' } : { text: 'ok' };
  const { ask, notices } = await trial(t, script);
  assert.equal(textOf(await ask({ tools: [adder] })), 'ok');
  assert.match(notices.join(), /cannot use tools/);
});

for (const status of [408, 429, 500, 502, 503, 529]) {
  test(`a ${status} is tried again`, async (t) => {
    const { ask, server, notices } = await trial(t, [{ status }, { status }, { text: 'ok' }]);
    assert.equal(textOf(await ask()), 'ok');
    assert.equal(server.requests.length, 3);
    assert.equal(notices.filter((text) => text.includes('Trying again')).length, 2);
  });
}

test('after the last attempt the failure is transient and tells what the server said', async (t) => {
  const { ask, server } = await trial(t, [{ status: 503, body: '{"error":{"message":"all workers are busy"}}' }]);
  const { reason, transient } = failed(await ask());
  assert.match(reason, /answered 503: all workers are busy/);
  assert.equal(transient, true);
  assert.equal(server.requests.length, 3);
});

test('Retry-After is obeyed', async (t) => {
  const { ask } = await trial(t, [{ status: 429, headers: { 'retry-after': '1' } }, { text: 'ok' }], {
    retryDelaysMs: [1],
  });
  const before = performance.now();
  assert.equal(textOf(await ask()), 'ok');
  assert.ok(performance.now() - before >= 990);
});

test('a server that asks for a long wait is left for later', async (t) => {
  const { ask, server } = await trial(t, [{ status: 429, headers: { 'retry-after': '3600' } }]);
  assert.equal(failed(await ask()).transient, true);
  assert.equal(server.requests.length, 1);
});

for (const [status, help] of [
  [400, undefined],
  [401, /api_key/],
  [403, /api_key/],
  [404, /svc model --list/],
] as const) {
  test(`a ${status} is final`, async (t) => {
    const { ask, server } = await trial(t, [{ status, body: '{"error":{"message":"no"}}' }]);
    const reply = failed(await ask());
    assert.equal(reply.transient, false);
    assert.equal(server.requests.length, 1);
    if (help) assert.match(reply.help ?? '', help);
  });
}

test('a request too long for the model is told apart, so that the agent can shorten it', async (t) => {
  const { ask } = await trial(t, [
    { status: 400, body: '{"error":{"message":"the request exceeds the available context size (4096 tokens)"}}' },
  ]);
  assert.equal(failed(await ask()).contextFull, true);
});

test('a connection that breaks before anything was shown is tried again', async (t) => {
  const reset: ScriptedReply = { raw: (response) => void response.socket?.resetAndDestroy() };
  const { ask, server } = await trial(t, [reset, cut(chunk({ role: 'assistant' })), { text: 'ok' }]);
  assert.equal(textOf(await ask()), 'ok');
  assert.equal(server.requests.length, 3);
});

test('after the first text was shown nothing is repeated', async (t) => {
  const { ask, server, shown } = await trial(t, [cut(chunk({ content: 'Hel' })), { text: 'Hello' }]);
  const { reason, transient } = failed(await ask());
  assert.match(reason, /broke/);
  assert.equal(transient, true);
  assert.equal(server.requests.length, 1);
  assert.deepEqual(shown, ['Hel']);
});

test('a server that is not there is said to be unreachable, with the next step', async (t) => {
  const placeholder = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => placeholder.once('listening', resolve));
  const { port } = placeholder.address() as { port: number };
  placeholder.close();
  const { ask } = await trial(t, [], { baseUrl: () => `http://127.0.0.1:${port}` });
  const { reason, help, transient } = failed(await ask());
  assert.match(reason, /Cannot reach the model server http:\/\/127.0.0.1:\d+ \(ECONNREFUSED\)/);
  assert.match(help ?? '', /svc model/);
  assert.equal(transient, true);
});

test('a redirect is not followed: the key stays where it was sent', async (t) => {
  const { ask, server } = await trial(t, [{ status: 302, headers: { location: 'https://elsewhere.example/' } }]);
  assert.match(failed(await ask()).reason, /redirects to https:\/\/elsewhere.example/);
  assert.equal(server.requests.length, 1);
});

test('an interruption during a wait for the next attempt ends it at once', async (t) => {
  const stop = new AbortController();
  const { ask } = await trial(t, [{ status: 503 }], { retryDelaysMs: [never] });
  assert.deepEqual(await ask({ signal: stop.signal, onNotice: () => stop.abort() }), { kind: 'aborted' });
});

test('a local server that still loads its model is waited for, not counted as failing', async (t) => {
  const loading: ScriptedReply = { status: 503, body: '{"error":{"code":503,"message":"Loading model"}}' };
  const { ask, server, notices } = await trial(t, [loading, { text: 'ok' }], { retryDelaysMs: [] });
  assert.equal(textOf(await ask()), 'ok');
  assert.equal(server.requests.length, 2);
  assert.deepEqual(notices, ['The server is loading the model.']);
});

test('calls side by side each learn that the server cannot stream', async (t) => {
  const script: Script = ({ body }) => (body.stream ? { status: 501, delayMs: 50 } : { text: 'ok' });
  const { ask, server } = await trial(t, script);
  const replies = await Promise.all([ask(), ask(), ask()]);
  assert.deepEqual(replies.map(textOf), ['ok', 'ok', 'ok']);
  assert.equal(server.requests.length, 6);
});
