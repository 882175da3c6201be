// Text messages through Twilio's REST API.

import { z } from 'zod';
import { type Reading, textAt } from '../judge.ts';
import { baseUrl, defineTarget, noKeys } from '../target.ts';

const E164 = /^\+[1-9]\d{6,14}$/;
const TOO_MANY = '20429';

const readingFor = (receiptKey: string): Reading => ({
  receipt: (json) => textAt(json, receiptKey),
  error: (json) => {
    const code = textAt(json, 'code');
    return { words: [code, textAt(json, 'message')].filter(Boolean).join(' '), retry: code === TOO_MANY };
  },
});

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

export const sms = defineTarget({
  name: 'sms',
  title: 'SMS (Twilio)',
  token: { about: 'The auth token of the Twilio account.' },
  settings: z.object({
    base_url: baseUrl('https://api.twilio.com'),
    account_sid: z.string().regex(/^\w+$/).describe('Account SID.'),
    from: z.string().min(1).describe('The sending number, or a messaging service (MG...).'),
  }),
  extra: noKeys,
  chat: { about: 'a phone number', example: '+4915112345678', pattern: E164 },
  env: {
    TWILIO_ACCOUNT_SID: 'extra.account_sid',
    TWILIO_AUTH_TOKEN: 'token',
    TWILIO_PHONE_NUMBER: 'extra.from',
    SMS_HOME_CHANNEL: 'home_channel.chat_id',
  },
  limit: { count: 1600, unit: 'utf16' },
  markup: 'plain',
  send(part, { call, token, chatId, settings }) {
    const sender: Record<string, string> = settings.from.startsWith('MG')
      ? { MessagingServiceSid: settings.from }
      : { From: settings.from };
    return call(
      `/2010-04-01/Accounts/${settings.account_sid}/Messages.json`,
      {
        method: 'POST',
        headers: { authorization: basic(settings.account_sid, token) },
        form: { To: chatId, ...sender, Body: part.text },
      },
      readingFor('sid'),
    );
  },
  check: ({ call, token, settings }) =>
    call(
      `/2010-04-01/Accounts/${settings.account_sid}.json`,
      { method: 'GET', headers: { authorization: basic(settings.account_sid, token) } },
      readingFor('friendly_name'),
    ),
});
