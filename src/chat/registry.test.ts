import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSlashLine } from './registry.ts';
import type { SlashCommand } from './slash-command.ts';

const command = (name: string, aliases: string[] = []): SlashCommand => ({
  name,
  aliases,
  summary: '',
  usage: `/${name}`,
  run: async () => undefined,
});
const commands = [command('cron'), command('quit', ['exit'])];

test('a line is a command and its words, with quotes kept together', () => {
  const call = readSlashLine('/cron create "every 5m"  hello ', commands);
  assert.equal(call.command.name, 'cron');
  assert.deepEqual(call.words, ['create', 'every 5m', 'hello']);
});

test('another name of a command works too', () => {
  assert.equal(readSlashLine('/exit', commands).command.name, 'quit');
});

test('what is no command names the one that was meant', () => {
  assert.throws(() => readSlashLine('/quti', commands), { code: 'usage', help: 'Did you mean /quit?' });
  assert.throws(() => readSlashLine('/', commands), { code: 'usage' });
  assert.throws(() => readSlashLine('/cron "open', commands), { code: 'usage', message: 'A quote is not closed.' });
});
