// Signal through the HTTP daemon of signal-cli (`signal-cli daemon --http`), which speaks JSON-RPC.

import { z } from 'zod';
import { type Reading, textAt } from '../judge.ts';
import { baseUrl, defineTarget, noKeys } from '../target.ts';

const GROUP = 'group:';
// Error codes of signal-cli: -3 is the network, -5 the rate limit of the Signal servers.
const PASSING = /^-[35]$/;

const readingFor = (receiptAt: string): Reading => ({
  receipt: (json) =>
    typeof json === 'object' && json !== null && 'result' in json ? (textAt(json, receiptAt) ?? '') : undefined,
  error: (json) => ({
    words: textAt(json, 'error.message'),
    retry: PASSING.test(textAt(json, 'error.code') ?? ''),
  }),
});

export const signal = defineTarget({
  name: 'signal',
  title: 'Signal',
  settings: z.object({
    base_url: baseUrl('http://127.0.0.1:8080'),
    account: z
      .string()
      .regex(/^\+[1-9]\d{6,14}$/, 'a phone number such as +4915112345678')
      .describe('The phone number that signal-cli sends from.'),
  }),
  extra: noKeys,
  chat: {
    about: 'a phone number, an account id or group:<id>',
    example: '+4915112345678',
    pattern: /^(\+[1-9]\d{6,14}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|group:[A-Za-z0-9+/_-]+={0,2})$/i,
  },
  env: {
    SIGNAL_HTTP_URL: 'extra.base_url',
    SIGNAL_ACCOUNT: 'extra.account',
    SIGNAL_HOME_CHANNEL: 'home_channel.chat_id',
  },
  limit: { count: 8000, unit: 'bytes' },
  markup: 'plain',
  send(part, { call, chatId, settings }) {
    const to = chatId.startsWith(GROUP) ? { groupId: chatId.slice(GROUP.length) } : { recipient: [chatId] };
    const params = { account: settings.account, ...to, message: part.text };
    const json = { jsonrpc: '2.0', id: part.key, method: 'send', params };
    return call('/api/v1/rpc', { method: 'POST', json }, readingFor('result.timestamp'));
  },
  check: ({ call, settings }) => {
    const json = {
      jsonrpc: '2.0',
      id: 'check',
      method: 'getUserStatus',
      params: { account: settings.account, recipient: [settings.account] },
    };
    return call('/api/v1/rpc', { method: 'POST', json }, { ...readingFor('result.0.number') });
  },
});
