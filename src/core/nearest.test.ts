import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearest } from './nearest.ts';

test('a misspelt word finds the one that was meant', () => {
  assert.equal(nearest('webhok', ['gateway', 'webhook', 'cron']), 'webhook');
  assert.equal(nearest('portt', ['host', 'port']), 'port');
  assert.equal(nearest('gatewya', ['gateway', 'webhook']), 'gateway');
});

test('the beginning of exactly one known word means that word', () => {
  assert.equal(nearest('stat', ['stop', 'status']), 'status');
});

test('a word that resembles nothing gets no suggestion', () => {
  assert.equal(nearest('banana', ['gateway', 'webhook', 'cron']), undefined);
  assert.equal(nearest('x', ['a', 'b']), undefined);
});
