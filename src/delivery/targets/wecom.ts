// WeCom: the robot of one group (a webhook with a key), or an application of the company that writes to its members.

import { z } from 'zod';
import { checkAccessToken, type TokenSource, withAccessToken } from '../access-token.ts';
import { type Reading, textAt } from '../judge.ts';
import { type Bound, baseUrl, defineTarget, noKeys, secretText } from '../target.ts';

const settings = z.object({
  base_url: baseUrl('https://qyapi.weixin.qq.com'),
  corp_id: z.string().min(1).describe('Corp id, for an application.').optional(),
  corp_secret: secretText('Secret of the application.').optional(),
  agent_id: z.coerce.number().int().describe('Agent id of the application.').optional(),
});
type Settings = z.infer<typeof settings>;

// -1 busy, 45009 and 45033 too many calls.
const PASSING = /^(-1|45009|45033)$/;
const error = (json: unknown) => {
  const code = textAt(json, 'errcode') ?? '';
  return { words: `${code} ${textAt(json, 'errmsg') ?? ''}`, retry: PASSING.test(code) };
};
const reading: Reading = {
  receipt: (json) => (textAt(json, 'errcode') === '0' ? (textAt(json, 'msgid') ?? '') : undefined),
  error,
};

export const wecom = defineTarget({
  name: 'wecom',
  title: 'WeCom',
  token: { about: 'The key of the webhook of a group robot.', optional: true },
  settings,
  extra: noKeys,
  chat: { about: 'a member, several as a|b, or @all (applications only)', example: 'zhangsan', optional: true },
  env: {
    WECOM_WEBHOOK_KEY: 'token',
    WECOM_CORP_ID: 'extra.corp_id',
    WECOM_CORP_SECRET: 'extra.corp_secret',
    WECOM_AGENT_ID: 'extra.agent_id',
    WECOM_HOME_CHANNEL: 'home_channel.chat_id',
  },
  limit: { count: 2048, unit: 'bytes' },
  markup: 'markdown',
  problem: (bound) =>
    isApp(bound) || bound.token ? undefined : 'Set the key of a robot, or corp_id, corp_secret, agent_id and a member.',
  send(part, connection) {
    const { settings: own, chatId, token: key, call } = connection;
    const message = { msgtype: 'markdown', markdown: { content: part.text } };
    if (!isApp(connection)) {
      return call(`/cgi-bin/webhook/send?key=${encodeURIComponent(key)}`, { method: 'POST', json: message }, reading);
    }
    const json = { touser: chatId, agentid: own.agent_id, ...message };
    return withAccessToken(connection, tokenSource(own), (token) =>
      call(`/cgi-bin/message/send?access_token=${encodeURIComponent(token)}`, { method: 'POST', json }, reading),
    );
  },
  check: (connection) =>
    connection.settings.corp_id
      ? checkAccessToken(connection, tokenSource(connection.settings), connection.settings.corp_id)
      : Promise.resolve({ kind: 'sent', receipt: 'a group robot (nothing to ask it)' }),
});

const isApp = ({ settings: own, chatId }: Pick<Bound<Settings, unknown>, 'settings' | 'chatId'>): boolean =>
  own.corp_id !== undefined && own.corp_secret !== undefined && own.agent_id !== undefined && chatId !== '';

const tokenSource = (own: Settings): TokenSource => ({
  id: `wecom ${own.corp_id} ${own.agent_id}`,
  path: `/cgi-bin/gettoken?${new URLSearchParams({ corpid: own.corp_id ?? '', corpsecret: own.corp_secret ?? '' })}`,
  request: { method: 'GET' },
  tokenAt: 'access_token',
  secondsAt: 'expires_in',
  error,
  ended: /\b(40014|42001)\b/,
});
