import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { chunk, DONE, event, type ScriptedReply, SSE_HEADERS } from '../../../test/support/model-server.ts';
import { failed, sse, textOf, trial } from '../../../test/support/model-trial.ts';
import type { Chunk } from './chat-chunk.ts';
import { readChatStream } from './chat-stream.ts';
import { WireFault } from './wire-fault.ts';

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

const page: ScriptedReply = {
  raw: (response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<!doctype html><title>Welcome</title>');
  },
};

for (const streams of [true, false]) {
  test(`a web page instead of an API is recognised, ${streams ? 'streaming' : 'not streaming'}`, async (t) => {
    const { ask } = await trial(t, ({ body }) => (body.stream && !streams ? { status: 501 } : page));
    const { reason, help, transient } = failed(await ask());
    assert.match(reason, /web page: .*Welcome/);
    assert.match(help ?? '', /base_url/);
    assert.equal(transient, false);
  });
}

test('an answer that is JSON but no chat completion is recognised', async (t) => {
  const other: ScriptedReply = { status: 200, body: '{"status":"ok"}' };
  const { ask } = await trial(t, [other]);
  assert.match(failed(await ask()).reason, /something else: .*status.*ok/);
});

test('an error page of a proxy is told without its markup', async (t) => {
  const { ask } = await trial(t, [{ status: 404, body: '<html><h1>Not Found</h1></html>' }]);
  assert.match(failed(await ask()).reason, /answered 404: Not Found$/);
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

const answerOf = (bytes: Uint8Array, cuts: readonly number[]): string => {
  const chunks: Chunk[] = [];
  const stream = readChatStream((one) => chunks.push(one));
  const ends = [...new Set(cuts.map((at) => at % (bytes.length + 1)))].toSorted((a, b) => a - b);
  let from = 0;
  for (const to of [...ends, bytes.length]) {
    stream.push(bytes.subarray(from, to));
    from = to;
  }
  stream.end();
  return chunks.map((one) => one.text).join('');
};

test('however the bytes are cut into packets, the same text arrives', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' })), fc.array(fc.nat()), (words, cuts) => {
      const text = words.map((word) => word.toWellFormed());
      const bytes = Buffer.from(text.map((content) => chunk({ content })).join('') + chunk({}, 'stop') + DONE);
      assert.equal(answerOf(bytes, cuts), text.join(''));
    }),
  );
});

test('bytes that make no sense end in a fault of the wire, never in anything else', () => {
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.json().map((json) => Buffer.from(`data: ${json}\n\n`)),
    fc.string().map((text) => Buffer.from(`data:${text}\n`)),
  );
  fc.assert(
    fc.property(fc.array(noise), (pieces) => {
      const stream = readChatStream(() => {});
      try {
        for (const piece of pieces) stream.push(piece);
        stream.end();
      } catch (error) {
        assert.ok(error instanceof WireFault, String(error));
      }
    }),
  );
});
