// What the agent adds to a model call: CPU per streamed token, delay of the first token, work before the request leaves,
// and the cost of merely importing it. Each against bare undici in the same run.

import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { z } from 'zod';
import { runAgent } from '../src/agent/agent.ts';
import type { Message } from '../src/agent/message.ts';
import { createModels, type Models } from '../src/agent/models.ts';
import { defineTool, type Tool } from '../src/agent/tool.ts';
import { configSchema } from '../src/config/schema.ts';
import { atMost, lineOf, median, type Result } from './report.ts';

const ROUNDS = 9;
const TOKENS = 3000;
const CALLS = 60;
const SESSION_MESSAGES = 200;

export async function run(): Promise<Result[]> {
  const server = fork(import.meta.filename, ['serve']);
  const [port] = (await once(server, 'message')) as [number];
  const url = `http://127.0.0.1:${port}`;
  const models = modelsOf(url);
  try {
    return [await tokenCost(url, models), await firstToken(url, models), await beforeRequest(), importCost()];
  } finally {
    await models.close();
    server.kill();
  }
}

const modelsOf = (base_url: string): Models =>
  createModels({ config: configSchema.parse({ model: { base_url, name: 'm', context_length: 1_000_000 } }), env: {} });

async function tokenCost(url: string, models: Models): Promise<Result> {
  const bare: number[] = [];
  const agent: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    bare.push(await cpuOf(() => readBare(url, `${TOKENS}`)));
    agent.push(await cpuOf(() => ask(models, `${TOKENS}`)));
  }
  // The first rounds warm both up.
  const ratios = agent.map((cpu, round) => cpu / (bare[round] ?? 1)).slice(2);
  const each = (all: number[]): string => `${(median(all.slice(2)) / TOKENS).toFixed(1)} us`;
  const detail = `${each(agent)} against ${each(bare)} per token, median of ${ratios.length} rounds`;
  return atMost(3, { name: 'CPU per streamed token against bare undici', value: median(ratios), detail });
}

async function firstToken(url: string, models: Models): Promise<Result> {
  const bare: number[] = [];
  const agent: number[] = [];
  for (let i = 0; i < CALLS; i += 1) {
    bare.push(await readBare(url, '5'));
    agent.push(await ask(models, '5'));
  }
  const value = median(agent) - median(bare);
  const detail = `${median(agent).toFixed(2)} against ${median(bare).toFixed(2)} ms, median of ${CALLS} calls`;
  return atMost(10, { name: 'first visible token later than the first byte', value, unit: ' ms', detail });
}

/** In this process, so that the arrival of the request can be timed by the same clock. */
async function beforeRequest(): Promise<Result> {
  let arrivedAt = 0;
  const server = createServer((incoming, response) => {
    arrivedAt = performance.now();
    incoming.resume().on('end', () => void stream(response, 1));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const url = `http://127.0.0.1:${port}`;
  const models = modelsOf(url);
  const body = JSON.stringify({ messages: SESSION });
  const bare: number[] = [];
  const agent: number[] = [];
  for (let i = 0; i < CALLS; i += 1) {
    let startedAt = performance.now();
    await readBare(url, body);
    bare.push(arrivedAt - startedAt);
    startedAt = performance.now();
    await runAgent({
      context: { taskId: 't', trust: 'person', grantedTools: [], signal: new AbortController().signal },
      system: 'Be brief.',
      messages: SESSION,
      tools: TOOLS,
      model: models.modelFor(),
      limits: { maxSteps: 5 },
      recorded: [],
      record: async () => {},
    });
    agent.push(arrivedAt - startedAt);
  }
  await models.close();
  server.closeAllConnections();
  server.close();
  const value = median(agent) - median(bare);
  const detail = `${median(agent).toFixed(2)} against ${median(bare).toFixed(2)} ms, median of ${CALLS} turns`;
  return atMost(5, {
    name: `added before the request of a ${SESSION_MESSAGES}-message session leaves`,
    value,
    unit: ' ms',
    detail,
  });
}

/** With the compile cache, as the program runs. Against one of the packages that the agent loads with its first call. */
function importCost(): Result {
  const folder = new URL('../src/agent/', import.meta.url);
  const cache = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const took = (script: string): number => {
    const args = [
      '--input-type=module',
      '-e',
      `const at = performance.now();${script};console.log(performance.now() - at)`,
    ];
    return Number(
      execFileSync(process.execPath, args, {
        cwd: folder,
        env: { ...process.env, NODE_COMPILE_CACHE: cache },
      }).toString('utf8'),
    );
  };
  const bare: number[] = [];
  const agent: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    bare.push(took("await import('undici')"));
    agent.push(took("await import('./agent.ts'); await import('./models.ts')"));
  }
  rmSync(cache, { recursive: true });
  const detail = `${median(agent).toFixed(1)} against ${median(bare).toFixed(1)} ms, median of ${ROUNDS} rounds`;
  return atMost(0.8, {
    name: 'importing the agent against importing undici',
    value: median(agent) / median(bare),
    detail,
  });
}

/** Milliseconds to the first byte. */
async function readBare(url: string, body: string): Promise<number> {
  const startedAt = performance.now();
  let firstAt = 0;
  const reply = await request(`${url}/v1/chat/completions`, { method: 'POST', body });
  for await (const bytes of reply.body) if (firstAt === 0 && bytes.length > 0) firstAt = performance.now();
  return firstAt - startedAt;
}

/** Milliseconds to the first visible token. */
async function ask(models: Models, tokens: string): Promise<number> {
  const startedAt = performance.now();
  let firstAt = 0;
  const reply = await models.modelFor().complete({
    system: '',
    messages: [{ role: 'user', content: tokens }],
    tools: [],
    signal: new AbortController().signal,
    onText: () => {
      if (firstAt === 0) firstAt = performance.now();
    },
  });
  if (reply.kind !== 'message') throw new Error(JSON.stringify(reply));
  return firstAt - startedAt;
}

async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

const SESSION: Message[] = [
  ...Array.from(
    { length: SESSION_MESSAGES - 1 },
    (_, i): Message =>
      i % 2 === 0
        ? { role: 'user', content: `Question ${i}: ${'what about this? '.repeat(20)}` }
        : { role: 'assistant', content: `Answer ${i}: ${'it is like this. '.repeat(20)}`, toolCalls: [] },
  ),
  { role: 'user', content: 'And now?' },
];

const TOOLS: Tool[] = Array.from({ length: 12 }, (_, i) =>
  defineTool({
    name: `tool_${i}`,
    description: 'Does something useful with a path and some options.',
    input: z.object({ path: z.string(), lines: z.number().optional(), options: z.array(z.string()).optional() }),
    toolsets: [],
    parallel: true,
    run: async () => ({ output: '' }),
  }),
);

/** The number of tokens is the last number in the request. */
async function serve(): Promise<void> {
  const server = createServer(async (incoming, response) => {
    let body = '';
    for await (const bytes of incoming) body += String(bytes);
    await stream(response, Number(/(\d+)\D*$/.exec(body.replace(/"max_tokens":\d+|"stream.*$/g, ''))?.[1] ?? 1));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.send?.((server.address() as { port: number }).port);
}

/** One write per token, with a turn of the event loop between them, as a generating server does. */
async function stream(response: ServerResponse, tokens: number): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const event = (delta: object, finish: string | null): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  for (let i = 0; i < tokens; i += 1) {
    response.write(event({ content: `word${i} ` }, null));
    await new Promise((resolve) => setImmediate(resolve));
  }
  response.end(`${event({}, 'stop')}data: [DONE]\n\n`);
}

if (process.argv[2] === 'serve') await serve();
else if (import.meta.main) for (const result of await run()) console.log(lineOf(result));
