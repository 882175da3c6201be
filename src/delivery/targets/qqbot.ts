// The official QQ bot API, version 2: people, groups and channels of guilds.

import { z } from 'zod';
import { checkAccessToken, type TokenSource, withAccessToken } from '../access-token.ts';
import { type Reading, textAt } from '../judge.ts';
import { baseUrl, defineTarget, noKeys } from '../target.ts';

const PLAIN_TEXT = 0;
const PLACES = {
  c2c: '/v2/users/ID/messages',
  group: '/v2/groups/ID/messages',
  channel: '/channels/ID/messages',
} as const;

// Limits on messages that nobody asked for, and too many calls.
const PASSING = /^(22009|100001|304045|304046|304047|304048|304049|304050)$/;

const reading: Reading = {
  receipt: (json) => textAt(json, 'id'),
  error: (json) => {
    const code = textAt(json, 'code') ?? '';
    return { words: `${code} ${textAt(json, 'message') ?? ''}`, retry: PASSING.test(code) };
  },
};

const settings = z.object({
  base_url: baseUrl('https://api.sgroup.qq.com'),
  token_url: z.url().describe('Where access tokens come from.').default('https://bots.qq.com/app/getAppAccessToken'),
  app_id: z.string().min(1).describe('App id of the bot.'),
});

export const qqbot = defineTarget({
  name: 'qqbot',
  title: 'QQ bot',
  token: { about: 'The client secret of the bot.' },
  settings,
  extra: noKeys,
  chat: {
    about: 'an openid, as c2c:<id>, group:<id> or channel:<id>; c2c when bare',
    example: 'group:C9F778FE6ADF9D1D',
    pattern: /^((c2c|group|channel):)?\w+$/,
  },
  env: {
    QQ_APP_ID: 'extra.app_id',
    QQ_CLIENT_SECRET: 'token',
    QQBOT_HOME_CHANNEL: 'home_channel.chat_id',
  },
  limit: { count: 2000, unit: 'utf16' },
  markup: 'plain',
  send(part, connection) {
    const [, kind = 'c2c', id = ''] = /^(?:(c2c|group|channel):)?(\w+)$/.exec(connection.chatId) ?? [];
    const path = (kind === 'group' ? PLACES.group : kind === 'channel' ? PLACES.channel : PLACES.c2c).replace('ID', id);
    const json = kind === 'channel' ? { content: part.text } : { content: part.text, msg_type: PLAIN_TEXT };
    return withAccessToken(connection, tokenSource(connection.settings, connection.token), (token) =>
      connection.call(path, { method: 'POST', headers: { authorization: `QQBot ${token}` }, json }, reading),
    );
  },
  check: (connection) =>
    checkAccessToken(connection, tokenSource(connection.settings, connection.token), connection.settings.app_id),
});

const tokenSource = (own: z.infer<typeof settings>, secret: string): TokenSource => ({
  id: `qqbot ${own.app_id}`,
  path: own.token_url,
  request: { method: 'POST', json: { appId: own.app_id, clientSecret: secret } },
  tokenAt: 'access_token',
  secondsAt: 'expires_in',
  error: (json) => ({
    words: `${textAt(json, 'code') ?? ''} ${textAt(json, 'message') ?? ''}`,
    retry: textAt(json, 'code') === '100001',
  }),
  ended: /\b(11241|11242|11243|11244|11245)\b|token/i,
});
