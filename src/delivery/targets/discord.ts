// Discord's REST API. A thread is a channel of its own there. The nonce makes a repeated message the same message.

import { z } from 'zod';
import { type Reading, secondsAt, textAt } from '../judge.ts';
import { baseUrl, defineTarget, noKeys } from '../target.ts';

const SNOWFLAKE = /^\d{5,20}$/;
const NONCE_LENGTH = 25;

const reading: Reading = {
  receipt: (json) => textAt(json, 'id'),
  error: (json) => ({ words: textAt(json, 'message'), afterMs: secondsAt(json, 'retry_after') }),
};

// Discord asks every bot to name itself in this form.
const headersFor = (token: string) => ({ authorization: `Bot ${token}`, 'user-agent': 'DiscordBot (svc, 1)' });

export const discord = defineTarget({
  name: 'discord',
  title: 'Discord',
  token: { about: 'The token of the bot, from the developer portal.' },
  settings: z.object({ base_url: baseUrl('https://discord.com/api/v10') }),
  extra: noKeys,
  chat: { about: 'a channel id', example: '1122334455667788990', pattern: SNOWFLAKE },
  thread: { about: 'the id of a thread', example: '1199887766554433221' },
  env: { DISCORD_BOT_TOKEN: 'token', DISCORD_HOME_CHANNEL: 'home_channel.chat_id' },
  limit: { count: 2000, unit: 'utf16' },
  markup: 'markdown',
  idempotency: 'nonce with enforce_nonce, for a few minutes',
  problem: ({ threadId }) =>
    threadId === undefined || SNOWFLAKE.test(threadId) ? undefined : 'The thread id of Discord is a number.',
  send: (part, { call, token, chatId, threadId }) =>
    call(
      `/channels/${threadId ?? chatId}/messages`,
      {
        method: 'POST',
        headers: headersFor(token),
        json: {
          content: part.text,
          // The end of an id differs between messages and parts; its start is only the time.
          nonce: part.key.slice(-NONCE_LENGTH),
          enforce_nonce: true,
          // Text from outside must not ring everyone.
          allowed_mentions: { parse: [] },
        },
      },
      reading,
    ),
  check: ({ call, token }) =>
    call(
      '/users/@me',
      { method: 'GET', headers: headersFor(token) },
      { ...reading, receipt: (json) => textAt(json, 'username') },
    ),
});
