// A model of ours against a scripted server: real sockets, real clocks (shortened), nothing faked.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Model, ModelReply, ModelRequest } from '../../src/agent/model.ts';
import { createModels } from '../../src/agent/models.ts';
import { configSchema } from '../../src/config/schema.ts';
import {
  type ModelServer,
  type ModelServerOptions,
  type Script,
  type ScriptedReply,
  SSE_HEADERS,
  startModelServer,
} from './model-server.ts';

export const KEY = 'sk-test-0123456789abcdef';
// Long enough that only a real hang meets it.
export const never = 60_000;

interface Setting extends ModelServerOptions {
  env?: Record<string, string>;
  retryDelaysMs?: readonly number[];
  silenceMs?: number;
  baseUrl?: (server: ModelServer) => string;
  name?: string | null;
}

export interface Trial {
  server: ModelServer;
  model: Model;
  shown: string[];
  thought: string[];
  notices: string[];
  ask(more?: Partial<ModelRequest>): Promise<ModelReply>;
}

export async function trial(t: TestContext, script: Script, setting: Setting = {}): Promise<Trial> {
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

export const sse = (...pieces: (string | Buffer)[]): ScriptedReply => ({
  raw: (response) => {
    response.writeHead(200, SSE_HEADERS);
    for (const piece of pieces) response.write(piece);
  },
});

/** Sends these pieces and then nothing more, without ending. */
export const silent = (...pieces: string[]): ScriptedReply => ({
  raw: async (response) => {
    response.writeHead(200, SSE_HEADERS);
    for (const piece of pieces) response.write(piece);
    if (pieces.length === 0) response.flushHeaders();
    await sleep(never, undefined, { ref: false });
  },
});

/** The bytes go out, then the connection is torn down. */
export const cut = (...pieces: (string | Buffer)[]): ScriptedReply => ({
  raw: async (response) => {
    response.writeHead(200, SSE_HEADERS);
    for (const piece of pieces) response.write(piece);
    await sleep(30);
    response.destroy();
  },
});

export const textOf = (reply: ModelReply): string => (reply.kind === 'message' ? reply.text : JSON.stringify(reply));
export const failed = (reply: ModelReply): Extract<ModelReply, { kind: 'failed' }> => {
  assert.equal(reply.kind, 'failed', `expected a failure, got ${JSON.stringify(reply)}`);
  return reply as Extract<ModelReply, { kind: 'failed' }>;
};
