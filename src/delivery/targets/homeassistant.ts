// Home Assistant: a notification in its own interface, or any of its notify services.

import { z } from 'zod';
import { type Reading, textAt } from '../judge.ts';
import { defineTarget, ownServer } from '../target.ts';

const reading: Reading = {
  // A service call answers with the list of states that it changed, which is often empty.
  receipt: (json) => (Array.isArray(json) ? '' : undefined),
  error: (json) => ({ words: textAt(json, 'message') }),
};

export const homeassistant = defineTarget({
  name: 'homeassistant',
  title: 'Home Assistant',
  token: { about: 'A long-lived access token.' },
  settings: z.object({ base_url: ownServer('Address of Home Assistant.') }),
  extra: z.object({ title: z.string().describe('Title of the notification; the route or job otherwise.').optional() }),
  chat: {
    about: 'a notify service, without one a notification in the interface',
    example: 'notify.mobile_app_phone',
    optional: true,
    pattern: /^(notify\.)?[a-z0-9_]+$/,
  },
  env: { HASS_URL: 'extra.base_url', HASS_TOKEN: 'token', HASS_HOME_CHANNEL: 'home_channel.chat_id' },
  limit: { count: 4096, unit: 'utf16' },
  markup: 'markdown',
  idempotency: 'notification id (in the interface; notify services have none)',
  send(part, { call, token, chatId, extra }) {
    const title = extra.title ?? part.source;
    const service = chatId === '' ? 'persistent_notification/create' : `notify/${chatId.replace(/^notify\./, '')}`;
    const message = chatId === '' ? { message: part.text, notification_id: part.key } : { message: part.plain };
    return call(
      `/api/services/${service}`,
      { method: 'POST', headers: { authorization: `Bearer ${token}` }, json: { title, ...message } },
      reading,
    );
  },
  check: ({ call, token }) =>
    call(
      '/api/',
      { method: 'GET', headers: { authorization: `Bearer ${token}` } },
      { ...reading, receipt: (json) => textAt(json, 'message') },
    ),
});
