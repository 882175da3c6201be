// WeChat through the iLink bot API. It lets a bot write only to people who wrote to it, and proves that with the context
// token of their last message.

import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { type Reading, textAt } from '../judge.ts';
import { baseUrl, defineTarget } from '../target.ts';

const FROM_BOT = 2;
const FINISHED = 2;
const TEXT_ITEM = 1;

// Only a non-zero `ret` or `errcode` means failure; -14 is a login that has ended. Some answers have neither.
const codeOf = (json: unknown): string => textAt(json, 'errcode') ?? textAt(json, 'ret') ?? '0';
const reading: Reading = {
  receipt: (json) => (codeOf(json) === '0' ? '' : undefined),
  error: (json) => ({ words: `${codeOf(json)} ${textAt(json, 'errmsg') ?? ''}`, retry: codeOf(json) === '-2' }),
};

const headersFor = (token: string) => ({
  authorization: `Bearer ${token}`,
  authorizationtype: 'ilink_bot_token',
  'x-wechat-uin': Buffer.from(String(randomInt(2 ** 32))).toString('base64'),
});

const base_info = { channel_version: '1.0.0' };

export const weixin = defineTarget({
  name: 'weixin',
  title: 'WeChat (iLink bot)',
  token: { about: 'The bot token that the login by QR code yields.' },
  settings: z.object({
    base_url: baseUrl('https://ilinkai.weixin.qq.com'),
    context_token: z.string().describe('Context token of the last message from the home channel.').optional(),
  }),
  extra: z.object({
    context_token: z.string().describe('Context token of the last message of this person.').optional(),
  }),
  chat: { about: 'the id of a person', example: 'o9cq80abc@im.wechat', pattern: /^[\w.@-]+$/ },
  env: {
    WEIXIN_TOKEN: 'token',
    WEIXIN_HOME_CHANNEL: 'home_channel.chat_id',
    WEIXIN_CONTEXT_TOKEN: 'extra.context_token',
  },
  limit: { count: 2000, unit: 'utf16' },
  markup: 'plain',
  send(part, { call, token, chatId, settings, extra }) {
    const contextToken = extra.context_token ?? settings.context_token;
    const msg = {
      from_user_id: '',
      to_user_id: chatId,
      client_id: part.key,
      message_type: FROM_BOT,
      message_state: FINISHED,
      item_list: [{ type: TEXT_ITEM, text_item: { text: part.text } }],
      ...(contextToken ? { context_token: contextToken } : {}),
    };
    return call(
      '/ilink/bot/sendmessage',
      { method: 'POST', headers: headersFor(token), json: { msg, base_info } },
      reading,
    );
  },
  check: ({ call, token, chatId, settings }) => {
    const json = { ilink_user_id: chatId, context_token: settings.context_token ?? '', base_info };
    return call('/ilink/bot/getconfig', { method: 'POST', headers: headersFor(token), json }, reading);
  },
});
