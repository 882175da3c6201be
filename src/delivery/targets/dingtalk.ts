// DingTalk: the robot of one group (a signed webhook), or an app robot that reaches groups and people.

import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { checkAccessToken, type TokenSource, withAccessToken } from '../access-token.ts';
import { type Reading, textAt } from '../judge.ts';
import type { SendOutcome } from '../outcome.ts';
import { type Bound, type Connection, defineTarget, noKeys, type Part, secretText } from '../target.ts';

const settings = z.object({
  base_url: z.url().describe('Address of the robot webhooks.').default('https://oapi.dingtalk.com'),
  api_url: z.url().describe('Address of the app API.').default('https://api.dingtalk.com'),
  secret: secretText('Signing secret of the group robot (SEC...).').optional(),
  client_id: z.string().min(1).describe('Client id of an app robot; used when a chat is named.').optional(),
  client_secret: secretText('Client secret of the app robot.').optional(),
});
type Settings = z.infer<typeof settings>;

// 130101 and 410100: more than 20 messages a minute. -1 and 88: busy.
const PASSING = /^(-1|88|130101|410100)$/;
const robotReading: Reading = {
  receipt: (json) => (textAt(json, 'errcode') === '0' ? '' : undefined),
  error: (json) => {
    const code = textAt(json, 'errcode');
    return { words: [code, textAt(json, 'errmsg')].filter(Boolean).join(' '), retry: PASSING.test(code ?? '') };
  },
};
const appError: Reading['error'] = (json) => ({
  words: [textAt(json, 'code'), textAt(json, 'message')].filter(Boolean).join(' '),
  retry: /throttl|limit/i.test(textAt(json, 'code') ?? ''),
});

export const dingtalk = defineTarget({
  name: 'dingtalk',
  title: 'DingTalk',
  token: { about: 'The access_token of the webhook of a group robot.', optional: true },
  settings,
  extra: noKeys,
  chat: { about: 'an open conversation id (cid...) or a user id', example: 'cidAbC123==', optional: true },
  env: {
    DINGTALK_ROBOT_TOKEN: 'token',
    DINGTALK_ROBOT_SECRET: 'extra.secret',
    DINGTALK_CLIENT_ID: 'extra.client_id',
    DINGTALK_CLIENT_SECRET: 'extra.client_secret',
    DINGTALK_HOME_CHANNEL: 'home_channel.chat_id',
  },
  limit: { count: 18_000, unit: 'bytes' },
  markup: 'markdown',
  problem: (bound) =>
    isApp(bound) || bound.token ? undefined : 'Set a robot token, or client_id, client_secret and a chat.',
  send: (part, connection) => (isApp(connection) ? sendAsApp(part, connection) : sendAsRobot(part, connection)),
  check: (connection) =>
    connection.settings.client_id
      ? checkAccessToken(connection, appToken(connection.settings), connection.settings.client_id)
      : Promise.resolve({ kind: 'sent', receipt: 'a group robot (nothing to ask it)' }),
});

const isApp = ({ settings: own, chatId }: Pick<Bound<Settings, unknown>, 'settings' | 'chatId'>): boolean =>
  own.client_id !== undefined && own.client_secret !== undefined && chatId !== '';

type DingConnection = Connection<Settings, unknown>;

function sendAsRobot(part: Part, { call, token, settings: own, now }: DingConnection): Promise<SendOutcome> {
  const query = new URLSearchParams({ access_token: token });
  if (own.secret) {
    const timestamp = String(now());
    query.set('timestamp', timestamp);
    query.set('sign', createHmac('sha256', own.secret).update(`${timestamp}\n${own.secret}`).digest('base64'));
  }
  const json = { msgtype: 'markdown', markdown: { title: part.source, text: part.text } };
  return call(`/robot/send?${query}`, { method: 'POST', json }, robotReading);
}

function sendAsApp(part: Part, connection: DingConnection): Promise<SendOutcome> {
  const { settings: own, chatId } = connection;
  const toGroup = chatId.startsWith('cid');
  const path = toGroup ? 'groupMessages/send' : 'oToMessages/batchSend';
  const json = {
    robotCode: own.client_id,
    ...(toGroup ? { openConversationId: chatId } : { userIds: [chatId] }),
    msgKey: 'sampleMarkdown',
    msgParam: JSON.stringify({ title: part.source, text: part.text }),
  };
  return withAccessToken(connection, appToken(own), (token) => {
    const headers = { 'x-acs-dingtalk-access-token': token };
    const reading = { receipt: (answer: unknown) => textAt(answer, 'processQueryKey'), error: appError };
    return connection.call(`${own.api_url}/v1.0/robot/${path}`, { method: 'POST', headers, json }, reading);
  });
}

const appToken = (own: Settings): TokenSource => ({
  id: `dingtalk ${own.client_id}`,
  path: `${own.api_url}/v1.0/oauth2/accessToken`,
  request: { method: 'POST', json: { appKey: own.client_id, appSecret: own.client_secret } },
  tokenAt: 'accessToken',
  secondsAt: 'expireIn',
  error: (json) => ({ words: textAt(json, 'message') }),
  ended: /InvalidAuthentication|40014|access.?token/i,
});
