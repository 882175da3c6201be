// The model client against a scripted server: real sockets, real clocks (shortened), nothing faked.

import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import {
  chunk,
  DONE,
  event,
  type ModelServer,
  type ModelServerOptions,
  type Script,
  type ScriptedReply,
  SSE_HEADERS,
  startModelServer,
} from '../../../test/support/model-server.ts';
import { configSchema } from '../../config/schema.ts';
import type { Model, ModelReply, ModelRequest } from '../model.ts';
import { createModels } from '../models.ts';

const KEY = 'sk-test-0123456789abcdef';
// Long enough that only a real hang meets it.
const never = 60_000;

interface Setting extends ModelServerOptions {
  env?: Record<string, string>;
  retryDelaysMs?: readonly number[];
  silenceMs?: number;
  baseUrl?: (server: ModelServer) => string;
  name?: string | null;
}

interface Trial {
  server: ModelServer;
  model: Model;
  shown: string[];
  thought: string[];
  notices: string[];
  ask(more?: Partial<ModelRequest>): Promise<ModelReply>;
}

async function trial(t: TestContext, script: Script, setting: Setting = {}): Promise<Trial> {
  const server = await startModelServer(script, setting);
  const base_url = setting.baseUrl?.(server) ?? server.url;
  const name = setting.name === null ? {} : { name: setting.name ?? 'scripted' };
  const models = createModels({
    config: configSchema.parse({ model: { base_url, api_key: KEY, max_tokens: 77, ...name } }),
    env: setting.env ?? {},
    retryDelaysMs: setting.retryDelaysMs ?? [20, 20],
    ...(setting.silenceMs === undefined ? {} : { silenceMs: setting.silenceMs }),
  });
  t.after(async () => {
    await models.close();
    await server.close();
  });
  const model = models.modelFor();
  const [shown, thought, notices]: string[][] = [[], [], []];
  const ask: Trial['ask'] = (more) =>
    model.complete({
      system: 'Be brief.',
      messages: [{ role: 'user', content: 'Hello' }],
      tools: [],
      signal: new AbortController().signal,
      onText: (delta) => shown?.push(delta),
      onThinking: (delta) => thought?.push(delta),
      onNotice: (text) => notices?.push(text),
      ...more,
    });
  return { server, model, shown: shown ?? [], thought: thought ?? [], notices: notices ?? [], ask };
}

const sse = (...pieces: (string | Buffer)[]): ScriptedReply => ({
  raw: (response) => {
    response.writeHead(200, SSE_HEADERS);
    for (const piece of pieces) response.write(piece);
  },
});

/** Sends these pieces and then nothing more, without ending. */
const silent = (...pieces: string[]): ScriptedReply => ({
  raw: async (response) => {
    response.writeHead(200, SSE_HEADERS);
    for (const piece of pieces) response.write(piece);
    if (pieces.length === 0) response.flushHeaders();
    await sleep(never, undefined, { ref: false });
  },
});

/** The bytes go out, then the connection is torn down. */
const cut = (...pieces: (string | Buffer)[]): ScriptedReply => ({
  raw: async (response) => {
    response.writeHead(200, SSE_HEADERS);
    for (const piece of pieces) response.write(piece);
    await sleep(30);
    response.destroy();
  },
});

const textOf = (reply: ModelReply): string => (reply.kind === 'message' ? reply.text : JSON.stringify(reply));
const failed = (reply: ModelReply): Extract<ModelReply, { kind: 'failed' }> => {
  assert.equal(reply.kind, 'failed', `expected a failure, got ${JSON.stringify(reply)}`);
  return reply as Extract<ModelReply, { kind: 'failed' }>;
};

const adder = { name: 'add', description: 'Adds.', input: z.object({ a: z.number(), b: z.number() }) };

test('a request carries model, messages and max_tokens, streams, and shows the text as it comes', async (t) => {
  const { server, ask, shown } = await trial(t, [{ text: 'Hello there, friend.' }]);
  const reply = await ask({ tools: [adder] });
  assert.deepEqual(reply, {
    kind: 'message',
    text: 'Hello there, friend.',
    toolCalls: [],
    usage: { inputTokens: 10, outputTokens: 5 },
  });
  assert.deepEqual(shown, ['Hello', ' there,', ' friend.']);
  const { body, headers, path } = server.requests[0] ?? assert.fail();
  assert.equal(path, '/v1/chat/completions');
  assert.equal(body.model, 'scripted');
  assert.equal(body.max_tokens, 77);
  assert.equal(body.stream, true);
  assert.deepEqual(body.messages, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hello' },
  ]);
  assert.deepEqual(body.tools?.[0]?.function.parameters, {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  });
  assert.equal(headers.authorization, `Bearer ${KEY}`);
});

for (const ending of ['', '/', '/v1', '/v1/', '/v1/chat/completions']) {
  test(`the base URL works with the ending "${ending}"`, async (t) => {
    const { ask, server } = await trial(t, [{ text: 'ok' }], { baseUrl: ({ url }) => url + ending });
    assert.equal(textOf(await ask()), 'ok');
    assert.equal(server.requests[0]?.path, '/v1/chat/completions');
  });
}

test('a conversation with calls and results is sent back as the server expects it', async (t) => {
  const { ask, server } = await trial(t, [{ text: 'ok' }]);
  await ask({
    messages: [
      { role: 'user', content: 'one' },
      { role: 'user', content: 'two' },
      {
        role: 'assistant',
        content: '',
        toolCalls: [
          { id: 'c1', name: 'add', arguments: { a: 1, b: 2 } },
          { id: 'c2', name: 'add', rawArguments: '{"a": tru' },
        ],
      },
      { role: 'tool', callId: 'c1', name: 'add', content: '3', failed: false },
      { role: 'tool', callId: 'c2', name: 'add', content: 'not JSON', failed: true },
    ],
  });
  const { messages } = server.requests[0]?.body ?? assert.fail();
  assert.deepEqual(
    messages.map((message) => message.role),
    ['system', 'user', 'assistant', 'tool', 'tool'],
  );
  assert.equal(messages[1]?.content, 'one\n\ntwo');
  assert.deepEqual(messages[2]?.tool_calls, [
    { id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } },
    { id: 'c2', type: 'function', function: { name: 'add', arguments: '{}' } },
  ]);
  assert.deepEqual(
    messages.slice(3).map((message) => [message.tool_call_id, message.content]),
    [
      ['c1', '3'],
      ['c2', 'not JSON'],
    ],
  );
});

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
  const env = { SVC_STREAM_READ_TIMEOUT: '0.5', SVC_STREAM_STALE_TIMEOUT: '1.5' };
  const { ask } = await trial(t, [pings], { env });
  const { reason, help } = failed(await ask());
  assert.match(reason, /sent no data for 1.5 s \(stale stream timeout\)/);
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
  const { ask } = await trial(t, [{ text: 'a b c d e f', pieceDelayMs: 100 }], {
    env: { SVC_STREAM_STALE_TIMEOUT: '0.6' },
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

test('a server that ignores the wish to stream and answers in one piece is understood', async (t) => {
  const whole: ScriptedReply = {
    raw: (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const message = {
        role: 'assistant',
        content: 'whole',
        tool_calls: [{ id: 'x', function: { name: 'add', arguments: { a: 1, b: 2 } } }],
      };
      response.end(JSON.stringify({ choices: [{ message }] }));
    },
  };
  const { ask } = await trial(t, [whole]);
  const reply = await ask();
  assert.deepEqual(reply.kind === 'message' && [reply.text, reply.toolCalls], [
    'whole',
    [{ id: 'x', name: 'add', arguments: { a: 1, b: 2 } }],
  ]);
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

test('a web page instead of an API is recognised, streaming or not', async (t) => {
  const page: ScriptedReply = {
    raw: (response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<!doctype html><title>Welcome</title>');
    },
  };
  const { ask } = await trial(t, [page]);
  const { reason, help, transient } = failed(await ask());
  assert.match(reason, /web page: .*Welcome/);
  assert.match(help ?? '', /base_url/);
  assert.equal(transient, false);
});

test('a redirect is not followed: the key stays where it was sent', async (t) => {
  const { ask, server } = await trial(t, [{ status: 302, headers: { location: 'https://elsewhere.example/' } }]);
  assert.match(failed(await ask()).reason, /redirects to https:\/\/elsewhere.example/);
  assert.equal(server.requests.length, 1);
});

test('a stream that ends in the middle of a character is a cut one', async (t) => {
  const half = Buffer.from(chunk({ content: 'Grüße' })).subarray(0, -30);
  const inside = Buffer.concat([
    Buffer.from('data: {"choices":[{"delta":{"content":"Gr'),
    Buffer.from('ü').subarray(0, 1),
  ]);
  const { ask, server } = await trial(t, [sse(inside), sse(half), { text: 'Grüße' }]);
  assert.equal(textOf(await ask()), 'Grüße');
  assert.equal(server.requests.length, 3);
});

test('characters split over packets arrive whole', async (t) => {
  const bytes = Buffer.from(`${chunk({ content: 'Grüße 🙂' })}${chunk({}, 'stop')}${DONE}`);
  const slowly: ScriptedReply = {
    raw: async (response) => {
      response.writeHead(200, SSE_HEADERS);
      for (const byte of bytes) {
        response.write(Buffer.from([byte]));
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
  const { ask } = await trial(t, [slowly]);
  assert.equal(textOf(await ask()), 'Grüße 🙂');
});

test('a line of 10 MB ends the call with a clear reason', async (t) => {
  const { ask } = await trial(t, [sse(`data: {"choices":[{"delta":{"content":"${'x'.repeat(10 * 1024 * 1024)}`)]);
  const { reason, transient } = failed(await ask());
  assert.match(reason, /longer than 8 MB/);
  assert.equal(transient, false);
});

const QUIRKS: readonly [string, ScriptedReply, { text?: string; calls?: unknown[]; thought?: string }][] = [
  [
    'tool-call deltas without an index',
    sse(
      chunk({ tool_calls: [{ id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":' } }] }),
      chunk({ tool_calls: [{ function: { arguments: '1}' } }] }),
      chunk({}, 'tool_calls'),
      DONE,
    ),
    { calls: [{ id: 'c1', name: 'add', arguments: { a: 1 } }] },
  ],
  [
    'arguments as an object',
    sse(
      chunk({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'add', arguments: { a: 1 } } }] }, 'tool_calls'),
      DONE,
    ),
    { calls: [{ id: 'c1', name: 'add', arguments: { a: 1 } }] },
  ],
  [
    'two calls side by side',
    sse(
      chunk({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'add', arguments: '{"a":1}' } }] }),
      chunk({ tool_calls: [{ index: 1, id: 'c2', function: { name: 'add', arguments: '{"a":2}' } }] }),
      chunk({}, 'tool_calls'),
      DONE,
    ),
    {
      calls: [
        { id: 'c1', name: 'add', arguments: { a: 1 } },
        { id: 'c2', name: 'add', arguments: { a: 2 } },
      ],
    },
  ],
  [
    'an old-style function_call',
    sse(chunk({ function_call: { name: 'add', arguments: '{"a":1}' } }, 'function_call'), DONE),
    { calls: [{ name: 'add', arguments: { a: 1 } }] },
  ],
  ['no finish reason', sse(chunk({ content: 'done' }), DONE), { text: 'done' }],
  ['neither finish reason nor [DONE]', sse(chunk({ content: 'done' })), { text: 'done' }],
  ['no usage', sse(chunk({ content: 'done' }, 'stop'), DONE), { text: 'done' }],
  [
    'usage of the wrong type',
    sse(event({ choices: [{ delta: { content: 'done' }, finish_reason: 'stop' }], usage: { prompt_tokens: 'many' } })),
    { text: 'done' },
  ],
  [
    'empty, missing and null choices',
    sse(
      event({ choices: [] }),
      event({ object: 'ping' }),
      event({ choices: null }),
      chunk({ content: 'done' }, 'stop'),
      DONE,
    ),
    { text: 'done' },
  ],
  [
    'comment pings',
    sse(': ping\n\n', chunk({ content: 'do' }), ':\n\n', chunk({ content: 'ne' }, 'stop'), ': bye\n\n', DONE),
    { text: 'done' },
  ],
  ['data that is not JSON', sse('data: keep-alive\n\n', chunk({ content: 'done' }, 'stop'), DONE), { text: 'done' }],
  [
    'events without an empty line between them',
    sse(`${chunk({ content: 'do' }).trim()}\n${chunk({ content: 'ne' }, 'stop').trim()}\n`),
    { text: 'done' },
  ],
  [
    'carriage returns and no space after the colon',
    sse(chunk({ content: 'done' }, 'stop').replace('data: ', 'data:').replaceAll('\n', '\r\n')),
    { text: 'done' },
  ],
  [
    'one value over two data lines',
    sse('data: {"choices":[{"delta":\ndata: {"content":"done"},"finish_reason":"stop"}]}\n\n'),
    { text: 'done' },
  ],
  [
    'lines of plain JSON',
    sse(`${JSON.stringify({ choices: [{ message: { content: 'done' }, finish_reason: 'stop' }] })}\n`),
    { text: 'done' },
  ],
  [
    'ids and times of the wrong type',
    sse(
      event({ id: 7, created: 'now', choices: [{ delta: { role: 'model', content: 'done' }, finish_reason: 'stop' }] }),
    ),
    { text: 'done' },
  ],
  [
    'thinking in its own field',
    sse(chunk({ reasoning_content: 'hm' }), chunk({ content: 'done' }, 'stop'), DONE),
    { text: 'done', thought: 'hm' },
  ],
  [
    'thinking in a field of another name',
    sse(chunk({ reasoning: 'hm' }), chunk({ content: 'done' }, 'stop'), DONE),
    { text: 'done', thought: 'hm' },
  ],
  [
    'thinking between tags',
    sse(
      chunk({ content: '<thi' }),
      chunk({ content: 'nk>h' }),
      chunk({ content: 'm</th' }),
      chunk({ content: 'ink>\n\ndone' }, 'stop'),
      DONE,
    ),
    { text: 'done', thought: 'hm' },
  ],
  [
    'a closing thinking tag without its opening',
    sse(chunk({ content: 'hm</think>\n' }), chunk({ content: 'done' }, 'stop'), DONE),
    { text: 'done' },
  ],
];

for (const [quirk, reply, expected] of QUIRKS) {
  test(`a server with this habit is understood: ${quirk}`, async (t) => {
    const { ask, thought } = await trial(t, [reply]);
    const answer = await ask();
    assert.equal(answer.kind, 'message', JSON.stringify(answer));
    if (answer.kind !== 'message') return;
    assert.equal(answer.text, expected.text ?? '');
    assert.equal(answer.toolCalls.length, expected.calls?.length ?? 0);
    assert.partialDeepStrictEqual(answer.toolCalls, expected.calls ?? []);
    if (expected.thought !== undefined) assert.equal(thought.join(''), expected.thought);
    assert.ok(
      answer.usage.inputTokens > 0 && answer.usage.outputTokens > 0,
      'a server that does not count is counted for',
    );
  });
}

test('an error inside the stream is tried again while nothing was shown, and told otherwise', async (t) => {
  const broken = sse(event({ error: { message: 'CUDA out of memory' } }));
  const first = await trial(t, [broken, sse(event({ error: 'slot unavailable' })), { text: 'ok' }]);
  assert.equal(textOf(await first.ask()), 'ok');
  const second = await trial(t, [sse(chunk({ content: 'a' }), event({ error: { message: 'CUDA out of memory' } }))]);
  assert.match(failed(await second.ask()).reason, /reported: CUDA out of memory/);
  assert.equal(second.server.requests.length, 1);
});

test('a stream with nothing in it is tried again and then reported', async (t) => {
  const { ask, server } = await trial(t, [sse(DONE)]);
  assert.match(failed(await ask()).reason, /without an answer/);
  assert.equal(server.requests.length, 3);
});

test('an answer cut at the token limit is told, and its last call is not mended into a whole one', async (t) => {
  const half = { index: 0, id: 'c1', function: { name: 'write', arguments: '{"path":"a","text":"half' } };
  const { ask, notices } = await trial(t, [sse(chunk({ tool_calls: [half] }), chunk({}, 'length'), DONE)]);
  const reply = await ask();
  assert.match((reply.kind === 'message' && reply.toolCalls[0]?.rawArguments) || '', /cut off/);
  assert.match(notices.join(), /max_tokens/);
});

test('an interruption ends the call at once and closes the socket', async (t) => {
  const stop = new AbortController();
  const { ask, server } = await trial(t, [silent(chunk({ content: 'Hel' }))]);
  const reply = await ask({ signal: stop.signal, onText: () => setImmediate(() => stop.abort()) });
  assert.deepEqual(reply, { kind: 'aborted' });
  while (server.open > 0) await sleep(5);
});

test('an interruption during a wait for the next attempt ends it at once', async (t) => {
  const stop = new AbortController();
  const { ask } = await trial(t, [{ status: 503 }], { retryDelaysMs: [never] });
  assert.deepEqual(await ask({ signal: stop.signal, onNotice: () => stop.abort() }), { kind: 'aborted' });
});

test('the key appears in no label, notice or reason, even when the server repeats it', async (t) => {
  const { ask, model, notices } = await trial(t, [{ status: 500, body: `{"error":{"message":"bad key ${KEY}"}}` }]);
  const everything = JSON.stringify([await ask(), model.label, notices]);
  assert.ok(!everything.includes(KEY), everything);
  assert.match(everything, /bad key \*\*\*/);
});

test('without a model name the only model of the server is used; with several a person must choose', async (t) => {
  const one = await trial(t, [{ text: 'ok' }], { name: null, models: ['qwen'] });
  assert.equal(textOf(await one.ask()), 'ok');
  assert.equal(one.server.requests[0]?.body.model, 'qwen');
  const two = await trial(t, [{ text: 'ok' }], { name: null, models: ['qwen', 'gemma'] });
  const { reason, help } = failed(await two.ask());
  assert.match(reason, /has 2: qwen, gemma/);
  assert.match(help ?? '', /svc model/);
});

test('the size of the context is asked from the server', async (t) => {
  const routes = { '/props': () => ({ status: 200, body: { default_generation_settings: { n_ctx: 8192 } } }) };
  const { ask, model } = await trial(t, [{ text: 'ok' }], { routes });
  await ask();
  for (let i = 0; i < 200 && model.contextLength === undefined; i += 1) await sleep(10);
  assert.equal(model.contextLength, 8192);
});

test('a local server that still loads its model is waited for, not counted as failing', async (t) => {
  const loading: ScriptedReply = { status: 503, body: '{"error":{"code":503,"message":"Loading model"}}' };
  const { ask, server, notices } = await trial(t, [loading, { text: 'ok' }], { retryDelaysMs: [] });
  assert.equal(textOf(await ask()), 'ok');
  assert.equal(server.requests.length, 2);
  assert.deepEqual(notices, ['The server is loading the model.']);
});
