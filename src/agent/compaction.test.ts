import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compact, estimateTokens, isNearlyFull, planCompaction } from './compaction.ts';
import { startConversation } from './conversation.ts';
import type { Message } from './message.ts';
import type { Model, ModelReply } from './model.ts';

const taskWith = (
  contextLength: number | undefined,
  reply: ModelReply = { kind: 'failed', reason: '', transient: true },
) => {
  const model: Model = { label: 'm', contextLength, complete: async () => reply };
  return { system: '', tools: [], model, context: { signal: new AbortController().signal } };
};

const SUMMARY: ModelReply = {
  kind: 'message',
  text: 'SUMMARY',
  toolCalls: [],
  usage: { inputTokens: 1, outputTokens: 1 },
};

const turn = (n: number, size = 400): Message[] => [
  { role: 'assistant', content: '', toolCalls: [{ id: `c${n}`, name: 'read', arguments: { n } }] },
  { role: 'tool', callId: `c${n}`, name: 'read', content: 'x'.repeat(size), failed: false },
];
const session = (turns: number): Message[] => [
  { role: 'user', content: 'Read them all.' },
  ...Array.from({ length: turns }, (_, n) => turn(n)).flat(),
];

test('an unknown context is never nearly full', () => {
  assert.equal(isNearlyFull(session(1000), taskWith(undefined)), false);
  assert.equal(isNearlyFull(session(10), taskWith(1000)), true);
});

test('a result is never kept without the call that asked for it', () => {
  for (let turns = 2; turns < 30; turns += 1) {
    const messages = session(turns);
    const plan = planCompaction(messages, taskWith(1500));
    const first = messages[messages.length - (plan?.keptMessages ?? 0)];
    assert.notEqual(first?.role, 'tool');
  }
});

test('a prompt alone cannot be shortened', () => {
  assert.equal(planCompaction([{ role: 'user', content: 'x'.repeat(100_000) }], taskWith(1000)), undefined);
});

test('a model that cannot summarise gets a summary made by rule, with the prompt and the calls in it', async () => {
  const messages = session(20);
  const task = taskWith(1500);
  const step = await compact(planCompaction(messages, task) ?? assert.fail(), task);
  assert.match(step.summary, /User: Read them all\.[\s\S]*read\(\{"n":0\}\)[\s\S]*Result of read/);
  assert.ok(step.summary.length < 8000);
});

test('after it, turns alternate: the summary stands in one user message with the prompt, then an answer', async () => {
  const messages = session(20);
  const task = taskWith(1500, SUMMARY);
  const conversation = startConversation(messages);
  conversation.add(await compact(planCompaction(messages, task) ?? assert.fail(), task));
  const [first, second] = conversation.messages;
  assert.equal(first?.role, 'user');
  assert.match(first?.content ?? '', /^Read them all\.[\s\S]*SUMMARY$/);
  assert.equal(second?.role, 'assistant');
  assert.equal(isNearlyFull(conversation.messages, task), false);
});

test('a kept question of a person stays the last word', async () => {
  const messages: Message[] = [
    ...session(20),
    { role: 'assistant', content: 'Done.', toolCalls: [] },
    { role: 'user', content: 'And now?' },
  ];
  const task = taskWith(700, SUMMARY);
  const conversation = startConversation(messages);
  conversation.add(await compact(planCompaction(messages, task) ?? assert.fail(), task));
  assert.match(conversation.messages.findLast((message) => message.role === 'user')?.content ?? '', /And now\?$/);
});

test('scripts in which a character is a token are not counted like English', () => {
  assert.equal(estimateTokens('a'.repeat(35)), 10);
  assert.equal(estimateTokens('日本語'.repeat(10)), 30);
});
