// Mattermost's REST API, version 4.

import { z } from 'zod';
import { type Reading, textAt } from '../judge.ts';
import { defineTarget, noKeys, ownServer } from '../target.ts';

const ID = /^[a-z0-9]{26}$/;

const reading: Reading = {
  receipt: (json) => textAt(json, 'id'),
  error: (json) => ({ words: textAt(json, 'message') }),
};

export const mattermost = defineTarget({
  name: 'mattermost',
  title: 'Mattermost',
  token: { about: 'A personal access token or the token of a bot account.' },
  settings: z.object({ base_url: ownServer('Address of the server.') }),
  extra: noKeys,
  chat: { about: 'a channel id', example: '4xp9fdt77pncbef59f4k1qe83o', pattern: ID },
  thread: { about: 'the id of the first post of a thread', example: 'q5c1trqd6jn4jd5tz3wmpd1wor' },
  env: {
    MATTERMOST_URL: 'extra.base_url',
    MATTERMOST_TOKEN: 'token',
    MATTERMOST_HOME_CHANNEL: 'home_channel.chat_id',
  },
  limit: { count: 16_383, unit: 'code_points' },
  markup: 'gfm',
  problem: ({ threadId }) =>
    threadId === undefined || ID.test(threadId) ? undefined : 'The thread id of Mattermost is the id of a post.',
  send: (part, { call, token, chatId, threadId }) =>
    call(
      '/api/v4/posts',
      {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        json: { channel_id: chatId, message: part.text, ...(threadId === undefined ? {} : { root_id: threadId }) },
      },
      reading,
    ),
  check: ({ call, token }) =>
    call(
      '/api/v4/users/me',
      { method: 'GET', headers: { authorization: `Bearer ${token}` } },
      { ...reading, receipt: (json) => textAt(json, 'username') },
    ),
});
