// Telegram's Bot API. HTML mode, because only three characters need escaping there.

import { z } from 'zod';
import { type Reading, secondsAt, textAt } from '../judge.ts';
import { baseUrl, defineTarget, noKeys } from '../target.ts';

const reading: Reading = {
  receipt: (json) => textAt(json, 'result.message_id'),
  error: (json) => {
    const words = textAt(json, 'description');
    return {
      words,
      afterMs: secondsAt(json, 'parameters.retry_after'),
      markup: /can't parse entities/i.test(words ?? ''),
    };
  },
};

export const telegram = defineTarget({
  name: 'telegram',
  title: 'Telegram',
  token: { about: 'The token of the bot, from @BotFather.' },
  settings: z.object({
    base_url: baseUrl('https://api.telegram.org'),
    silent: z.boolean().describe('Send without a sound.').default(false),
    link_previews: z.boolean().describe('Show previews of links.').default(false),
  }),
  extra: noKeys,
  chat: { about: 'a chat id or @channel', example: '-1001234567890', pattern: /^(-?\d+|@\w+)$/ },
  thread: { about: 'the id of a forum topic', example: '17' },
  env: {
    TELEGRAM_BOT_TOKEN: 'token',
    TELEGRAM_HOME_CHANNEL: 'home_channel.chat_id',
    TELEGRAM_HOME_CHANNEL_THREAD_ID: 'home_channel.thread_id',
  },
  limit: { count: 4096, unit: 'utf16' },
  markup: 'telegram_html',
  problem: ({ threadId }) =>
    threadId === undefined || /^\d+$/.test(threadId) ? undefined : 'The thread id of a Telegram topic is a number.',
  async send(part, { call, token, chatId, threadId, settings }) {
    const message = {
      chat_id: chatId,
      text: part.text,
      ...(part.marked ? { parse_mode: 'HTML' } : {}),
      ...(settings.silent ? { disable_notification: true } : {}),
      ...(settings.link_previews ? {} : { link_preview_options: { is_disabled: true } }),
    };
    const post = (json: object) => call(`/bot${token}/sendMessage`, { method: 'POST', json }, reading);
    if (threadId === undefined) return post(message);
    const outcome = await post({ ...message, message_thread_id: Number(threadId) });
    // The General topic has an id that must not be sent, and topics get deleted: the chat itself is still the right place.
    if (outcome.kind !== 'refused' || !/thread not found|TOPIC_/i.test(outcome.reason)) return outcome;
    const second = await post(message);
    return second.kind === 'sent' ? { ...second, note: `Topic ${threadId} is gone; sent to the chat itself.` } : second;
  },
  check: ({ call, token }) =>
    call(`/bot${token}/getMe`, { method: 'GET' }, { ...reading, receipt: (json) => textAt(json, 'result.username') }),
});
