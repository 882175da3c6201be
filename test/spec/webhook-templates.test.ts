// Contract: "Prompt templates".

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const templates = {
  nested: 'PR {pull_request.title} of {repository.full_name}, first check {check_run.pull_requests.0.number}',
  raw: 'Event:\n{__raw__}',
  missing: 'Hello {nobody.home}, {also_missing}',
  maps: 'Labels: {labels}; head: {head}',
  plain: '{text} {number} {yes} {nothing}',
  once: '{a}',
  proto: '{__proto__.x} {constructor.name} {list.length} {toString}',
};
const routes = {
  default: {},
  ...Object.fromEntries(Object.entries(templates).map(([name, prompt]) => [name, { prompt }])),
  extra: { prompt: 'x', deliver: 'local', deliver_extra: { chat_id: '{chat.id}', subject: 'About {title}' } },
};

let gateway: TestGateway;
before(async () => {
  gateway = await startTestGateway({ routes, config: { runs: { concurrency: 0 } } });
});
after(() => gateway[Symbol.asyncDispose]());

async function promptFor(route: string, body: unknown): Promise<string> {
  const { status } = await gateway.send(route, { body });
  assert.equal(status, 200);
  return (await gateway.newestRun(route)).prompt;
}

test('1: dot notation reaches nested values and list elements by index', async () => {
  const body = {
    pull_request: { title: 'Fix it' },
    repository: { full_name: 'o/r' },
    check_run: { pull_requests: [{ number: 12 }] },
  };
  assert.equal(await promptFor('nested', body), 'PR Fix it of o/r, first check 12');
});

test('2: {__raw__} is the whole payload as indented JSON, cut to 4000 characters', async () => {
  const small = { a: { b: [1, 2] } };
  assert.equal(await promptFor('raw', small), `Event:\n${JSON.stringify(small, null, 2)}`);
  const large = { text: 'é😀'.repeat(5000) };
  const expected = [...JSON.stringify(large, null, 2)].slice(0, 4000).join('');
  assert.equal(await promptFor('raw', large), `Event:\n${expected}`);
});

test('3: a missing key stays as literal text', async () => {
  assert.equal(await promptFor('missing', { nobody: {} }), 'Hello {nobody.home}, {also_missing}');
});

test('4: nested maps and lists are JSON, cut to 2000 characters', async () => {
  const labels = Array.from({ length: 400 }, (_, index) => ({ name: `label-${index}` }));
  const head = { ref: 'main' };
  const cut = JSON.stringify(labels, null, 2).slice(0, 2000);
  assert.equal(await promptFor('maps', { labels, head }), `Labels: ${cut}; head: ${JSON.stringify(head, null, 2)}`);
});

test('5: without a prompt the whole payload as indented JSON, cut to 4000 characters, is the prompt', async () => {
  const body = { items: Array.from({ length: 2000 }, (_, index) => index) };
  assert.equal(await promptFor('default', body), JSON.stringify(body, null, 2).slice(0, 4000));
  assert.equal(await promptFor('default', { a: 1 }), '{\n  "a": 1\n}');
});

test('6: there is nothing but substitution: inserted text is not expanded again', async () => {
  assert.equal(await promptFor('once', { a: '{b} {__raw__} {a}', b: 'secret' }), '{b} {__raw__} {a}');
});

test('7: the same templating applies to deliver_extra', async () => {
  await gateway.send('extra', { body: { chat: { id: 42 }, title: 'Cats' } });
  const { addresses } = await gateway.newestRun('extra');
  assert.deepEqual(addresses, [{ target: 'local', chatId: '42', extra: { subject: 'About Cats' } }]);
});

test('8: strings stand as they are; numbers, booleans and null as JSON writes them', async () => {
  assert.equal(
    await promptFor('plain', { text: 'a "b"', number: 1.5, yes: true, nothing: null }),
    'a "b" 1.5 true null',
  );
});

test('only own keys resolve', async () => {
  assert.equal(await promptFor('proto', JSON.parse('{"__proto__":{"x":1},"list":[]}')), templates.proto);
});

test('a payload that is no object is accepted; templates resolve by index or stay literal', async () => {
  assert.equal(await promptFor('once', [1, 2]), '{a}');
  for (const body of [null, 1, 'x', []]) assert.equal(await promptFor('default', body), JSON.stringify(body, null, 2));
});
