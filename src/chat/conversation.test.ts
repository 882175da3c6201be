// Conversations against a real store and the scripted model server's contract: a model is a function here.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { z } from 'zod';
import type { Model, ModelReply, ModelRequest } from '../agent/model.ts';
import { defineTool, type Tool, type ToolContext } from '../agent/tool.ts';
import type { ToolCall } from '../core/step.ts';
import { openStore } from '../store/open.ts';
import { deliverToSession, readSession } from '../store/sessions.ts';
import type { Store } from '../store/store.ts';
import { type ConversationDeps, continueConversation, startConversation } from './conversation.ts';

let folder: string;
let store: Store;
let time = 1000;
let ids = 0;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-conversation-'));
  store = await openStore({ file: join(folder, 'svc.db') }, { mode: 'inline' });
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

const usage = { inputTokens: 1, outputTokens: 1 };
const says = (text: string, toolCalls: ToolCall[] = []): ModelReply => ({ kind: 'message', text, toolCalls, usage });
const never = new AbortController().signal;

/** A model that answers with what `reply` returns, and keeps what it was asked. */
function scripted(reply: (request: ModelRequest, number: number) => ModelReply | Promise<ModelReply>) {
  const requests: ModelRequest[] = [];
  const model: Model = {
    label: 'scripted',
    contextLength: undefined,
    async complete(request) {
      requests.push({ ...request, messages: [...request.messages] });
      return reply(request, requests.length);
    },
  };
  return { model, requests };
}

const depsWith = (model: Model, tools: readonly Tool[] = [], timeoutMs = 60_000): ConversationDeps => ({
  store,
  now: () => time++,
  newId: (prefix) => `${prefix}_${++ids}`,
  modelFor: () => model,
  toolsFor: async () => tools,
  systemFor: async () => 'system',
  limits: { maxSteps: 10, timeoutMs },
});

const kindsOf = async (sessionId: string) =>
  (await store.read(readSession({ sessionId })))?.entries.map(({ entry }) => entry.kind);

test('every turn is stored, and the next one sees it', async () => {
  const { model, requests } = scripted((_request, number) => says(`answer ${number}`));
  const conversation = startConversation(depsWith(model));
  await conversation.say('first', { signal: never });
  await conversation.say('second', { signal: never });
  assert.deepEqual(await kindsOf(conversation.sessionId), ['prompt', 'model', 'prompt', 'model']);
  assert.deepEqual(
    requests[1]?.messages.map((message) => message.content),
    ['first', 'answer 1', 'second'],
  );
});

test('a session can be taken up again, the newest one by default', async () => {
  const { model, requests } = scripted(() => says('ok'));
  const first = startConversation(depsWith(model));
  await first.say('remember this', { signal: never });
  const again = await continueConversation(depsWith(model));
  assert.equal(again.session.id, first.sessionId);
  await again.conversation.say('what was it?', { signal: never });
  assert.deepEqual(
    requests[1]?.messages.map((message) => message.content),
    ['remember this', 'ok', 'what was it?'],
  );
  await assert.rejects(continueConversation(depsWith(model), 'chat_none'), /There is no chat session/);
});

test('an interruption keeps what was said, and the conversation goes on', async () => {
  const interruption = new AbortController();
  const { model, requests } = scripted((request, number) => {
    if (number > 1) return says('after');
    request.onText?.('half an ans');
    interruption.abort();
    return { kind: 'aborted' };
  });
  const conversation = startConversation(depsWith(model));
  const result = await conversation.say('go', { signal: interruption.signal });
  assert.equal(result.kind, 'interrupted');
  const stored = await store.read(readSession({ sessionId: conversation.sessionId }));
  assert.deepEqual(stored?.entries.at(-1)?.entry, { kind: 'interrupted', text: 'half an ans' });
  await conversation.say('and now?', { signal: never });
  assert.match(requests[1]?.messages[1]?.content ?? '', /^half an ans\n\[The user interrupted here\.\]$/);
});

test('a tool that was interrupted has a result for the next turn, as servers demand', async () => {
  const interruption = new AbortController();
  const waiting = defineTool({
    name: 'wait',
    description: '',
    input: z.object({}),
    toolsets: [],
    parallel: false,
    run: () => {
      interruption.abort();
      return new Promise(() => {});
    },
  });
  const { model, requests } = scripted((_request, number) =>
    number === 1 ? says('', [{ id: 'c1', name: 'wait', arguments: {} }]) : says('fine'),
  );
  const conversation = startConversation(depsWith(model, [waiting]));
  assert.equal((await conversation.say('go', { signal: interruption.signal })).kind, 'interrupted');
  await conversation.say('next', { signal: never });
  assert.deepEqual(
    requests[1]?.messages.map((message) => message.role),
    ['user', 'assistant', 'tool', 'assistant', 'user'],
  );
});

test('a failure is stored with its reason, and the next prompt still follows an answer', async () => {
  const { model, requests } = scripted((_request, number) =>
    number === 1 ? { kind: 'failed', reason: 'no server', transient: true } : says('ok'),
  );
  const conversation = startConversation(depsWith(model));
  assert.deepEqual((await conversation.say('go', { signal: never })).kind, 'failed');
  await conversation.say('again', { signal: never });
  assert.deepEqual(
    requests[1]?.messages.map((message) => message.role),
    ['user', 'assistant', 'user'],
  );
});

test('a turn that takes too long fails and says which setting to raise', async () => {
  const { model } = scripted(
    (request) =>
      new Promise((resolve) =>
        request.signal.addEventListener('abort', () => resolve({ kind: 'aborted' }), { once: true }),
      ),
  );
  const result = await startConversation(depsWith(model, [], 50)).say('go', { signal: never });
  assert.equal(result.kind, 'failed');
  assert.match(result.kind === 'failed' ? (result.help ?? '') : '', /agent\.timeout_s/);
});

test('tools run for the session, for a person, with the chat as origin', async () => {
  let seen: ToolContext | undefined;
  const look = defineTool({
    name: 'look',
    description: '',
    input: z.object({}),
    toolsets: [],
    parallel: false,
    run: async (_input, context) => {
      seen = context;
      return { output: 'ok' };
    },
  });
  const { model } = scripted((_request, number) =>
    number === 1 ? says('', [{ id: 'c1', name: 'look', arguments: {} }]) : says('done'),
  );
  const conversation = startConversation(depsWith(model, [look]));
  await conversation.say('go', { signal: never });
  assert.equal(seen?.taskId, conversation.sessionId);
  assert.equal(seen?.trust, 'person');
  assert.deepEqual(seen?.grantedTools, ['look']);
  assert.deepEqual(seen?.origin, { target: 'chat', chatId: conversation.sessionId });
});

test('a message that arrives is shown once and known to the model from then on', async () => {
  const { model, requests } = scripted(() => says('ok'));
  const conversation = startConversation(depsWith(model));
  await conversation.say('start a job', { signal: never });
  const { sessionId } = conversation;
  await store.write(deliverToSession({ sessionId, key: 'd1', text: 'the report', source: 'daily', at: 5 }));
  const again = (await continueConversation(depsWith(model), sessionId)).conversation;
  assert.equal(await again.hasArrived(), true);
  assert.deepEqual(
    (await again.takeArrived()).map(({ entry }) => entry.kind),
    ['delivered'],
  );
  assert.equal(await again.hasArrived(), false);
  await again.say('what does it say?', { signal: never });
  const contents = requests[1]?.messages.map((message) => message.content);
  assert.equal(contents?.length, 3);
  assert.match(contents?.[1] ?? '', /^ok\n\n\[A message arrived from daily:\]\nthe report$/);
});
