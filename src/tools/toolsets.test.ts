import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { defineTool, type Tool } from '../agent/tool.ts';
import { listToolsets, resolveTools } from './toolsets.ts';

const tool = (name: string, toolsets: string[], more: Partial<Tool> = {}): Tool =>
  defineTool({
    name,
    description: '',
    input: z.object({}),
    toolsets,
    parallel: false,
    run: async () => ({ output: '' }),
    ...more,
  });

const tools = [
  tool('terminal', ['terminal']),
  tool('read_file', ['files']),
  tool('browser_dialog', ['browser', 'core']),
  tool('send_message', ['messaging'], { untrusted: 'named' }),
  tool('cronjob', ['cron'], { untrusted: 'never' }),
  tool('skill', ['skills']),
  tool('broken', ['files'], { hidden: async () => 'It is broken.' }),
];
const person = { trust: 'person', taskId: 'chat_1' } as const;
const stranger = { trust: 'untrusted', taskId: 'run_1' } as const;
const namesOf = (granted: readonly Tool[]) => granted.map((one) => one.name);

describe('toolsets', () => {
  test('a toolset gives its own tools and those of the toolsets it includes', async () => {
    const { granted } = await resolveTools(['svc-chat'], tools, {}, person);
    assert.deepEqual(namesOf(granted), ['terminal', 'read_file', 'browser_dialog', 'send_message', 'cronjob', 'skill']);
  });

  test('a tool can be named by itself', async () => {
    const { granted } = await resolveTools(['read_file'], tools, {}, person);
    assert.deepEqual(namesOf(granted), ['read_file']);
  });

  test('a tool that says why it cannot work is hidden with that reason', async () => {
    const { hidden } = await resolveTools(['files'], tools, {}, person);
    assert.deepEqual(hidden, [{ name: 'broken', reason: 'It is broken.' }]);
  });

  test('names that mean nothing are told', async () => {
    const { granted, unknown } = await resolveTools(['terminal', 'shell', '__proto__'], tools, {}, person);
    assert.deepEqual([namesOf(granted), unknown], [['terminal'], ['shell', '__proto__']]);
  });

  test('an untrusted run cannot send messages or make jobs through a toolset', async () => {
    const { granted, hidden } = await resolveTools(['core'], tools, {}, stranger);
    assert.ok(!namesOf(granted).includes('send_message'));
    assert.ok(!namesOf(granted).includes('cronjob'));
    assert.match(hidden.find((one) => one.name === 'send_message')?.reason ?? '', /itself is listed/);
  });

  test('an untrusted run can send messages when the tool itself was granted, and never make jobs', async () => {
    const { granted } = await resolveTools(['send_message', 'cronjob'], tools, {}, stranger);
    assert.deepEqual(namesOf(granted), ['send_message']);
  });

  test('the configuration adds toolsets, replaces contents and may extend a built-in one', async () => {
    const overrides = {
      mine: ['terminal', 'files'],
      'svc-cron': ['read_file'],
      'svc-webhook': ['svc-webhook', 'read_file'],
      loop: ['loop2'],
      loop2: ['loop'],
    };
    const given = async (name: string) => namesOf((await resolveTools([name], tools, overrides, person)).granted);
    assert.deepEqual(await given('mine'), ['terminal', 'read_file']);
    assert.deepEqual(await given('svc-cron'), ['read_file']);
    assert.deepEqual(await given('svc-webhook'), ['terminal', 'read_file', 'skill']);
    assert.deepEqual(await given('loop'), []);
  });

  test('every toolset can be listed', () => {
    const listed = listToolsets(tools, { mine: ['terminal'] });
    assert.deepEqual(listed.find((one) => one.name === 'svc-webhook')?.tools, ['skill', 'terminal']);
    assert.deepEqual(listed.find((one) => one.name === 'mine')?.tools, ['terminal']);
  });
});
