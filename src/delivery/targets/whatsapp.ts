// WhatsApp through Meta's Cloud API. Free text reaches only people who wrote within the last day; Meta refuses the rest.

import { z } from 'zod';
import { type Reading, textAt } from '../judge.ts';
import { baseUrl, defineTarget, noKeys } from '../target.ts';

// Call, throughput, spam and pair rate limits, and two temporary failures; most of them come with status 400.
const PASSING = /^(1|2|4|80007|130429|131048|131056|131016|131000)$/;

const readingFor = (receiptAt: string): Reading => ({
  receipt: (json) => textAt(json, receiptAt),
  error: (json) => {
    const code = textAt(json, 'error.code');
    return {
      words: [code, textAt(json, 'error.message')].filter(Boolean).join(' '),
      retry: PASSING.test(code ?? ''),
    };
  },
});

export const whatsapp = defineTarget({
  name: 'whatsapp',
  title: 'WhatsApp (Cloud API)',
  token: { about: 'A permanent access token of a system user.' },
  settings: z.object({
    base_url: baseUrl('https://graph.facebook.com'),
    phone_number_id: z.string().regex(/^\d+$/).describe('Id of the sending number (not the number itself).'),
    api_version: z
      .string()
      .regex(/^v\d+\.\d+$/)
      .describe('Version of the Graph API.')
      .default('v23.0'),
  }),
  extra: noKeys,
  chat: { about: 'a phone number', example: '4915112345678', pattern: /^\+?\d{6,15}$/ },
  env: {
    WHATSAPP_CLOUD_ACCESS_TOKEN: 'token',
    WHATSAPP_CLOUD_PHONE_NUMBER_ID: 'extra.phone_number_id',
    WHATSAPP_HOME_CHANNEL: 'home_channel.chat_id',
  },
  limit: { count: 4096, unit: 'utf16' },
  markup: 'whatsapp',
  send: (part, { call, token, chatId, settings }) =>
    call(
      `/${settings.api_version}/${settings.phone_number_id}/messages`,
      {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        json: {
          messaging_product: 'whatsapp',
          recipient_type: 'individual',
          to: chatId,
          type: 'text',
          text: { preview_url: false, body: part.text },
        },
      },
      readingFor('messages.0.id'),
    ),
  check: ({ call, token, settings }) =>
    call(
      `/${settings.api_version}/${settings.phone_number_id}?fields=display_phone_number`,
      { method: 'GET', headers: { authorization: `Bearer ${token}` } },
      readingFor('display_phone_number'),
    ),
});
