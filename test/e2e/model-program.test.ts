// The agent against a model server program that is not ours (aimock), run as its own process: the OpenAI-compatible
// API, and the native APIs of the optional providers.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type AgentEvent, type AgentResult, runAgent } from '../../src/agent/agent.ts';
import { createModels } from '../../src/agent/models.ts';
import { type ConfigInput, configSchema } from '../../src/config/schema.ts';
import type { Step } from '../../src/core/step.ts';
import { adder } from '../support/adder.ts';
import { type Child, startNode } from '../support/child.ts';
import { tempFolder } from '../support/temp-folder.ts';

const KEY = 'test-key-1';
const LONG = 'This answer comes in many small pieces, with Grüße and 日本語 in between.';

const FIXTURES = [
  {
    match: { userMessage: 'limit me', sequenceIndex: 0 },
    response: { error: { message: 'slow down', type: 'rate_limit_error' }, status: 429 },
  },
  { match: { userMessage: 'limit me' }, response: { content: 'let through' } },
  {
    match: { userMessage: 'add', hasToolResult: false },
    response: {
      toolCalls: [
        { name: 'add', arguments: '{"a":1,"b":2}' },
        { name: 'add', arguments: '{"a":3,"b":4}' },
      ],
    },
  },
  { match: { userMessage: 'add', hasToolResult: true }, response: { content: 'They are 3 and 7.' } },
  {
    match: { userMessage: 'fail' },
    response: { error: { message: 'no such model', type: 'invalid_request_error' }, status: 404 },
  },
  { match: { userMessage: 'think' }, response: { content: 'done', reasoning: 'step by step' } },
  { match: { userMessage: 'hello' }, response: { content: LONG }, chunkSize: 3, latency: 2 },
];

let program: Child;
let url = '';

before(async () => {
  const fixtures = join(tempFolder(), 'fixtures.json');
  writeFileSync(fixtures, JSON.stringify({ fixtures: FIXTURES }));
  const cli = join(fileURLToPath(import.meta.resolve('@copilotkit/aimock')), '..', 'cli.js');
  program = startNode([cli, '-p', '0', '-f', fixtures], { env: { AIMOCK_API_KEYS: KEY } });
  await program.says('listening on');
  url = /listening on (http:\/\/\S+)/.exec(program.output())?.[1] ?? assert.fail(program.output());
});
after(() => program.kill());

interface Done {
  result: AgentResult;
  steps: Step[];
  events: AgentEvent[];
}

async function work(prompt: string, settings: ConfigInput['model'] = {}): Promise<Done> {
  const model = { base_url: url, name: 'gpt-4o-mini', api_key: KEY, ...settings };
  const models = createModels({ config: configSchema.parse({ model }), env: {}, retryDelaysMs: [50, 50] });
  const steps: Step[] = [];
  const events: AgentEvent[] = [];
  try {
    const result = await runAgent({
      context: { taskId: 't', trust: 'person', grantedTools: ['add'], signal: new AbortController().signal },
      system: 'Be brief.',
      messages: [{ role: 'user', content: prompt }],
      tools: [adder],
      model: models.modelFor(),
      limits: { maxSteps: 10 },
      recorded: [],
      record: async (step) => {
        steps.push(step);
      },
      onEvent: (event) => events.push(event),
    });
    return { result, steps, events };
  } finally {
    await models.close();
  }
}

async function chaos(rates: Record<string, number>): Promise<void> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const reply = await fetch(`${url}/__aimock/chaos`, { method: 'POST', headers, body: JSON.stringify(rates) });
  assert.ok(reply.ok, await reply.text());
}

const calm = (): Promise<Response> =>
  fetch(`${url}/__aimock/chaos`, { method: 'DELETE', headers: { authorization: `Bearer ${KEY}` } });

const textOf = ({ result }: Done): string => (result.kind === 'answer' ? result.text : JSON.stringify(result));

test('a streamed answer arrives whole and in pieces', async () => {
  const done = await work('hello');
  assert.equal(textOf(done), LONG);
  const pieces = done.events.filter((event) => event.kind === 'text');
  assert.ok(pieces.length > 10, `only ${pieces.length} pieces`);
});

test('parallel tool calls are carried out and the results used', async () => {
  const done = await work('add');
  assert.equal(textOf(done), 'They are 3 and 7.');
  const outputs = done.steps.flatMap((step) => (step.kind === 'tool_result' ? [step.output] : []));
  assert.deepEqual(outputs.toSorted(), ['3', '7']);
});

test('reasoning is kept apart from the answer', async () => {
  const done = await work('think');
  assert.equal(textOf(done), 'done');
  assert.ok(done.events.some((event) => event.kind === 'thinking'));
});

test('a rate limit is waited out', async () => {
  const done = await work('limit me');
  assert.equal(textOf(done), 'let through');
  assert.ok(done.events.some((event) => event.kind === 'notice' && event.text.includes('429')));
});

test('an error of the server ends the task with its own words', async () => {
  const { result } = await work('fail');
  assert.equal(result.kind, 'failed');
  assert.match(result.kind === 'failed' ? result.reason : '', /404: no such model/);
});

test('a wrong key is refused and not shown', async () => {
  const { result } = await work('hello', { api_key: 'wrong-key-9' });
  assert.equal(result.kind, 'failed');
  assert.match(JSON.stringify(result), /401[\s\S]*api_key/);
  assert.ok(!JSON.stringify(result).includes('wrong-key-9'));
});

for (const [name, rates] of [
  ['drops requests', { dropRate: 1 }],
  ['answers with broken JSON', { malformedRate: 1 }],
  ['breaks connections', { disconnectRate: 1 }],
  ['limits every request', { rateLimitRate: 1 }],
] as const) {
  test(`a server that ${name} ends the task with a reason, and works again afterwards`, async (t) => {
    t.after(calm);
    await chaos(rates);
    const { result } = await work('hello');
    assert.equal(result.kind, 'failed', JSON.stringify(result));
    await calm();
    assert.equal(textOf(await work('hello')), LONG);
  });
}

for (const [provider, name, base_url] of [
  ['openai', 'gpt-4o-mini', () => `${url}/v1`],
  ['anthropic', 'claude-sonnet-4-5', () => `${url}/v1`],
  ['google', 'gemini-2.5-flash', () => `${url}/v1beta`],
] as const) {
  test(`the native ${provider} provider streams, calls tools and reports errors`, async () => {
    const settings = { provider, name, base_url: base_url() };
    assert.equal(textOf(await work('hello', settings)), LONG);
    const done = await work('add', settings);
    assert.equal(textOf(done), 'They are 3 and 7.');
    assert.equal(done.steps.filter((step) => step.kind === 'tool_result').length, 2);
    const { result } = await work('fail', settings);
    assert.match(result.kind === 'failed' ? result.reason : '', /404/);
  });
}
