// iMessage through a BlueBubbles server on a Mac. Its password travels in the query, so URLs are never shown.

import { z } from 'zod';
import { type Reading, textAt } from '../judge.ts';
import { defineTarget, noKeys, ownServer } from '../target.ts';

const reading: Reading = {
  receipt: (json) => (textAt(json, 'status') === '200' ? (textAt(json, 'data.guid') ?? '') : undefined),
  error: (json) => ({ words: textAt(json, 'error.message') ?? textAt(json, 'message') }),
};

export const bluebubbles = defineTarget({
  name: 'bluebubbles',
  title: 'iMessage (BlueBubbles)',
  token: { about: 'The password of the server.' },
  settings: z.object({
    base_url: ownServer('Address of the BlueBubbles server.'),
    method: z.enum(['apple-script', 'private-api']).describe('How the Mac sends.').default('apple-script'),
  }),
  extra: noKeys,
  chat: {
    about: 'a chat GUID, a phone number or a mail address',
    example: 'iMessage;-;+4915112345678',
    pattern: /^([\w]+;[+-];[^\s;]+|\+?\d{4,15}|[^\s@;]+@[^\s@;]+)$/,
  },
  env: {
    BLUEBUBBLES_SERVER_URL: 'extra.base_url',
    BLUEBUBBLES_PASSWORD: 'token',
    BLUEBUBBLES_HOME_CHANNEL: 'home_channel.chat_id',
  },
  limit: { count: 4000, unit: 'utf16' },
  markup: 'plain',
  send: (part, { call, token, chatId, settings }) =>
    call(
      `/api/v1/message/text?password=${encodeURIComponent(token)}`,
      {
        method: 'POST',
        json: {
          chatGuid: chatId.includes(';') ? chatId : `iMessage;-;${chatId}`,
          tempGuid: part.key,
          message: part.text,
          method: settings.method,
        },
      },
      reading,
    ),
  check: ({ call, token }) =>
    call(
      `/api/v1/ping?password=${encodeURIComponent(token)}`,
      { method: 'GET' },
      { ...reading, receipt: (json) => (textAt(json, 'status') === '200' ? textAt(json, 'data') : undefined) },
    ),
});
