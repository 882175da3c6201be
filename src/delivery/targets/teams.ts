// Microsoft Teams through the webhook of a workflow, as an adaptive card. The address itself is the secret.

import { z } from 'zod';
import type { Reading } from '../judge.ts';
import { defineTarget, noKeys } from '../target.ts';

const reading: Reading = {
  anyBody: true,
  // The older connectors answer 200 and write into the body that it failed, with the real status in it.
  receipt: (_json, { text }) => (/failed with error/i.test(text) ? undefined : ''),
  error: (_json, { text }) => ({ words: text, retry: /\b(429|5\d\d)\b/.test(text) && /failed with error/i.test(text) }),
};

export const teams = defineTarget({
  name: 'teams',
  title: 'Microsoft Teams',
  token: { about: 'The webhook address of the workflow, from "Post to a channel when a webhook request is received".' },
  settings: noKeys,
  extra: z.object({ title: z.string().describe('A line above the text.').optional() }),
  env: { TEAMS_WEBHOOK_URL: 'token' },
  // A message may have 28 KB, the card around the text included.
  limit: { count: 20_000, unit: 'bytes' },
  markup: 'markdown',
  problem: ({ token }) => (URL.canParse(token) ? undefined : 'The webhook address of Teams is not a URL.'),
  send(part, { call, token, extra }) {
    const block = (text: string, look = {}) => ({ type: 'TextBlock', text, wrap: true, ...look });
    const title = extra.title ? [block(extra.title, { weight: 'Bolder', size: 'Medium' })] : [];
    const content = {
      $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
      type: 'AdaptiveCard',
      version: '1.4',
      body: [...title, block(part.text)],
      msteams: { width: 'Full' },
    };
    const attachments = [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }];
    return call(token, { method: 'POST', json: { type: 'message', attachments } }, reading);
  },
});
