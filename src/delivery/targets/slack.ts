// Slack's Web API. It answers 200 with `ok: false` for most refusals.

import { z } from 'zod';
import { type Reading, textAt } from '../judge.ts';
import { baseUrl, defineTarget, noKeys } from '../target.ts';

const PASSING = /^(ratelimited|rate_limited|internal_error|fatal_error|service_unavailable|request_timeout)$/;

const isOk = (json: unknown): boolean => typeof json === 'object' && json !== null && Reflect.get(json, 'ok') === true;

const readingFor = (receiptKey: string): Reading => ({
  receipt: (json) => (isOk(json) ? (textAt(json, receiptKey) ?? '') : undefined),
  error: (json) => {
    const words = textAt(json, 'error');
    return { words, retry: PASSING.test(words ?? '') };
  },
});

export const slack = defineTarget({
  name: 'slack',
  title: 'Slack',
  token: { about: 'The bot token (xoxb-...), with the scope chat:write.' },
  settings: z.object({
    base_url: baseUrl('https://slack.com/api'),
    unfurl_links: z.boolean().describe('Show previews of links.').default(false),
  }),
  extra: noKeys,
  chat: { about: 'a channel id, user id or #name', example: 'C0123456789', pattern: /^[#@]?[\w.-]+$/ },
  thread: { about: 'the timestamp of the first message of a thread', example: '1731638400.000100' },
  env: {
    SLACK_BOT_TOKEN: 'token',
    SLACK_HOME_CHANNEL: 'home_channel.chat_id',
    SLACK_HOME_CHANNEL_THREAD_ID: 'home_channel.thread_id',
  },
  // The documented maximum is 40000; beyond it Slack cuts without a word.
  limit: { count: 39_000, unit: 'utf16' },
  markup: 'mrkdwn',
  send: (part, { call, token, chatId, threadId, settings }) =>
    call(
      '/chat.postMessage',
      {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        json: {
          channel: chatId,
          text: part.text,
          mrkdwn: part.marked,
          unfurl_links: settings.unfurl_links,
          unfurl_media: settings.unfurl_links,
          ...(threadId === undefined ? {} : { thread_ts: threadId }),
        },
      },
      readingFor('ts'),
    ),
  check: ({ call, token }) =>
    call('/auth.test', { method: 'POST', headers: { authorization: `Bearer ${token}` } }, readingFor('user')),
});
