// Feishu and Lark: an app of one's own sends to chats and people. The uuid makes a repeated message the same message.

import { z } from 'zod';
import { checkAccessToken, type TokenSource, withAccessToken } from '../access-token.ts';
import { type Reading, textAt } from '../judge.ts';
import { baseUrl, defineTarget, noKeys } from '../target.ts';

const UUID_LENGTH = 50;
const ID_TYPES = [
  [/^oc_/, 'chat_id'],
  [/^ou_/, 'open_id'],
  [/^on_/, 'union_id'],
  [/@/, 'email'],
] as const;

// Rate limits of the API and of one chat, and its internal errors.
const PASSING = /^(99991400|230020|11232|1061045|2200|1000004|1000005)$/;
const BAD_CONTENT = '230001';

const reading: Reading = {
  receipt: (json) => (textAt(json, 'code') === '0' ? (textAt(json, 'data.message_id') ?? '') : undefined),
  error: (json) => {
    const code = textAt(json, 'code') ?? '';
    return { words: `${code} ${textAt(json, 'msg') ?? ''}`, retry: PASSING.test(code), markup: code === BAD_CONTENT };
  },
};

const settings = z.object({
  base_url: baseUrl('https://open.feishu.cn').describe('Address of the server; https://open.larksuite.com for Lark.'),
  app_id: z.string().min(1).describe('App id (cli_...).'),
});

export const feishu = defineTarget({
  name: 'feishu',
  title: 'Feishu / Lark',
  token: { about: 'The app secret.' },
  settings,
  extra: noKeys,
  chat: {
    about: 'a chat id (oc_...), open id (ou_...), union id (on_...) or mail address',
    example: 'oc_a0553eda9014c201',
  },
  thread: { about: 'the message that is answered in its thread', example: 'om_dc13264520392913' },
  env: {
    FEISHU_APP_ID: 'extra.app_id',
    FEISHU_APP_SECRET: 'token',
    FEISHU_HOME_CHANNEL: 'home_channel.chat_id',
  },
  limit: { count: 8000, unit: 'utf16' },
  markup: 'markdown',
  idempotency: 'uuid, for one hour',
  problem: ({ threadId }) =>
    threadId === undefined || /^om_\w+$/.test(threadId)
      ? undefined
      : 'The thread id of Feishu is a message id (om_...).',
  send(part, connection) {
    const { chatId, threadId, token: secret } = connection;
    const content = part.marked
      ? { msg_type: 'post', content: JSON.stringify({ zh_cn: { content: [[{ tag: 'md', text: part.text }]] } }) }
      : { msg_type: 'text', content: JSON.stringify({ text: part.text }) };
    const uuid = part.key.slice(-UUID_LENGTH);
    const idType = ID_TYPES.find(([form]) => form.test(chatId))?.[1] ?? 'user_id';
    const path = threadId
      ? `/open-apis/im/v1/messages/${threadId}/reply`
      : `/open-apis/im/v1/messages?receive_id_type=${idType}`;
    const json = threadId ? { ...content, reply_in_thread: true, uuid } : { receive_id: chatId, ...content, uuid };
    return withAccessToken(connection, tokenSource(connection.settings, secret), (token) =>
      connection.call(path, { method: 'POST', headers: { authorization: `Bearer ${token}` }, json }, reading),
    );
  },
  check: (connection) =>
    checkAccessToken(connection, tokenSource(connection.settings, connection.token), connection.settings.app_id),
});

const tokenSource = (own: z.infer<typeof settings>, secret: string): TokenSource => ({
  id: `feishu ${own.app_id}`,
  path: '/open-apis/auth/v3/tenant_access_token/internal',
  request: { method: 'POST', json: { app_id: own.app_id, app_secret: secret } },
  tokenAt: 'tenant_access_token',
  secondsAt: 'expire',
  error: (json) => ({ words: `${textAt(json, 'code') ?? ''} ${textAt(json, 'msg') ?? ''}` }),
  ended: /9999166[138]|99991677/,
});
