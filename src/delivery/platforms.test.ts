import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkConfig } from '../config/load.ts';
import { platformDescriptions, secretsOf } from './platforms.ts';
import { findTarget, targets } from './registry.ts';

const load = (text: string, env: NodeJS.ProcessEnv = {}) =>
  checkConfig(text, undefined, { home: '/nonexistent', env, platforms: platformDescriptions });

test('a platform is set up by its own variables and by those with its stand-in name', () => {
  const config = (env: NodeJS.ProcessEnv) => {
    const checked = load('platforms: { messenger_1: { enabled: true } }', env);
    assert.ok(checked.kind === 'ok');
    return checked.loaded.config.platforms.telegram;
  };
  assert.equal(config({ TELEGRAM_BOT_TOKEN: 'real' })?.token, 'real');
  assert.equal(config({ MESSENGER_1_BOT_TOKEN: 'stand-in' })?.token, 'stand-in');
  assert.equal(config({ MESSENGER_1_BOT_TOKEN: 'stand-in', TELEGRAM_BOT_TOKEN: 'real' })?.token, 'real');
  assert.equal(config({ TELEGRAM_HOME_CHANNEL: '-100' })?.home_channel?.chat_id, '-100');
});

test('no two platforms share a variable', () => {
  const names = platformDescriptions.flatMap(({ env }) => Object.keys(env ?? {}));
  assert.deepEqual(names, [...new Set(names)]);
});

test('wrong keys of a platform are named, and missing ones when it is enabled', () => {
  const problems = (text: string) => {
    const checked = load(text);
    return checked.kind === 'invalid' ? checked.problems.map(({ key, help }) => `${key} ${help}`) : [];
  };
  assert.match(problems('platforms: { telegram: { extra: { base_ur: x } } }')[0] ?? '', /base_ur .*base_url/);
  assert.match(problems('platforms: { telegrm: { enabled: true } }')[0] ?? '', /telegram/);
  assert.match(problems('platforms: { sms: { enabled: true, token: x } }').join('\n'), /account_sid/);
  assert.deepEqual(problems('platforms: { sms: { enabled: false } }'), []);
});

test('every secret of a platform is known by its value', () => {
  const wecom = findTarget('wecom');
  assert.ok(wecom);
  const platform = { enabled: true, token: 'robot-key', extra: { corp_id: 'ww1', corp_secret: 'hush' } };
  assert.deepEqual(secretsOf(wecom, platform), ['robot-key', 'hush']);
});

test('every target of the contract is there, and every one but the built-in has settings', () => {
  const contract = ['log', 'hosta_comment', 'sms', 'home_automation', 'email'];
  const messengers = Array.from({ length: 13 }, (_, index) => `messenger_${index + 1}`);
  for (const name of [...contract, ...messengers, 'local']) assert.ok(findTarget(name), name);
  assert.equal(new Set(targets.map(({ name }) => name)).size, 23);
});
