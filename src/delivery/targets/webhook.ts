// A signed POST to any URL, in the form of Standard Webhooks. The address may come from a payload, so private ones are
// refused unless the operator allows them.

import { createHmac } from 'node:crypto';
import type { Reading } from '../judge.ts';
import { defineTarget, noKeys } from '../target.ts';

const SECRET_PREFIX = 'whsec_';

const reading: Reading = { anyBody: true, receipt: () => '', error: (_json, { text }) => ({ words: text }) };

export const webhook = defineTarget({
  name: 'webhook',
  title: 'Webhook',
  // `platforms.webhook` is the gateway that receives.
  platform: 'outgoing_webhook',
  token: { about: 'The signing secret, whsec_ and 24 to 64 bytes in base64.' },
  settings: noKeys,
  extra: noKeys,
  chat: { about: 'an http(s) URL', example: 'https://example.org/hooks/in', pattern: /^https?:\/\/\S+$/i },
  env: { OUTGOING_WEBHOOK_SECRET: 'token', OUTGOING_WEBHOOK_URL: 'home_channel.chat_id' },
  limit: { count: 1_000_000, unit: 'bytes' },
  markup: 'gfm',
  idempotency: 'webhook-id header',
  takesEmptyText: true,
  problem: ({ chatId }) => {
    const url = URL.parse(chatId);
    return !url || url.username || url.password ? 'The URL must be whole and hold no user or password.' : undefined;
  },
  send(part, { call, token, chatId, now, allowPrivate }) {
    const seconds = Math.floor(now() / 1000);
    const { index, count, source } = part;
    const body = JSON.stringify({
      type: 'message',
      timestamp: new Date(seconds * 1000).toISOString(),
      data: { text: part.text, source, part: index + 1, parts: count },
    });
    const key = token.startsWith(SECRET_PREFIX) ? Buffer.from(token.slice(SECRET_PREFIX.length), 'base64') : token;
    const signature = createHmac('sha256', key).update(`${part.key}.${seconds}.${body}`).digest('base64');
    const headers = {
      'content-type': 'application/json',
      'webhook-id': part.key,
      'webhook-timestamp': String(seconds),
      'webhook-signature': `v1,${signature}`,
    };
    return call(chatId, { method: 'POST', headers, body, publicOnly: !allowPrivate }, reading);
  },
});
