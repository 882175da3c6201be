// ntfy, hosted or one's own. Published as JSON, because titles in headers allow ASCII only.

import { z } from 'zod';
import { type Reading, textAt } from '../judge.ts';
import { baseUrl, defineTarget } from '../target.ts';

const reading: Reading = {
  receipt: (json) => textAt(json, 'id'),
  error: (json) => ({ words: textAt(json, 'error') }),
};

const authorized = (token: string): Record<string, string> => (token ? { authorization: `Bearer ${token}` } : {});

export const ntfy = defineTarget({
  name: 'ntfy',
  title: 'ntfy',
  token: { about: 'An access token, where topics are protected.', optional: true },
  settings: z.object({ base_url: baseUrl('https://ntfy.sh') }),
  extra: z.object({
    title: z.string().describe('Title; the route or job otherwise.').optional(),
    priority: z
      .string()
      .regex(/^[1-5]$/, '1 to 5')
      .describe('From 1 (least) to 5.')
      .optional(),
    tags: z.string().describe('Tags or emoji names, separated by commas.').optional(),
    click: z.url().describe('What a click on the notification opens.').optional(),
  }),
  chat: { about: 'a topic', example: 'alerts', pattern: /^[-_A-Za-z0-9]{1,64}$/ },
  env: { NTFY_TOKEN: 'token', NTFY_URL: 'extra.base_url', NTFY_TOPIC: 'home_channel.chat_id' },
  limit: { count: 4096, unit: 'bytes' },
  markup: 'markdown',
  send: (part, { call, token, chatId, extra }) =>
    call(
      '/',
      {
        method: 'POST',
        headers: authorized(token),
        json: {
          topic: chatId,
          title: extra.title ?? part.source,
          message: part.text,
          markdown: part.marked,
          ...(extra.priority ? { priority: Number(extra.priority) } : {}),
          ...(extra.tags ? { tags: extra.tags.split(',').map((tag) => tag.trim()) } : {}),
          ...(extra.click ? { click: extra.click } : {}),
        },
      },
      reading,
    ),
  check: ({ call, token }) =>
    call(
      '/v1/account',
      { method: 'GET', headers: authorized(token) },
      { ...reading, receipt: (json) => textAt(json, 'username') },
    ),
});
