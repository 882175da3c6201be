// Matrix client-server API. The transaction id makes a repeated message the same message. No encrypted rooms.

import { z } from 'zod';
import { judge, type Reading, textAt } from '../judge.ts';
import { type Connection, defineTarget, noKeys, ownServer } from '../target.ts';

const reading: Reading = {
  receipt: (json) => textAt(json, 'event_id'),
  error: (json) => {
    const waitMs = Number(textAt(json, 'retry_after_ms') ?? Number.NaN);
    return {
      words: [textAt(json, 'errcode'), textAt(json, 'error')].filter(Boolean).join(' '),
      retry: textAt(json, 'errcode') === 'M_LIMIT_EXCEEDED',
      ...(Number.isFinite(waitMs) ? { afterMs: waitMs } : {}),
    };
  },
};

export const matrix = defineTarget({
  name: 'matrix',
  title: 'Matrix',
  token: { about: 'An access token of the bot account.' },
  settings: z.object({ base_url: ownServer('Address of the homeserver.') }),
  extra: noKeys,
  chat: { about: 'a room id or #alias', example: '!abc:example.org', pattern: /^[!#].+/ },
  thread: { about: 'the event id that a thread hangs on', example: '$event' },
  env: {
    MATRIX_HOMESERVER: 'extra.base_url',
    MATRIX_ACCESS_TOKEN: 'token',
    MATRIX_HOME_ROOM: 'home_channel.chat_id',
  },
  // An event may have 65536 bytes and carries the text twice.
  limit: { count: 16_000, unit: 'bytes' },
  markup: 'html',
  idempotency: 'transaction id',
  async send(part, connection) {
    const { call, token, chatId, threadId } = connection;
    const room = chatId.startsWith('#') ? await roomOf(chatId, connection) : chatId;
    if (typeof room !== 'string') return room;
    const path = `/_matrix/client/v3/rooms/${encodeURIComponent(room)}/send/m.room.message/${encodeURIComponent(part.key)}`;
    const json = {
      msgtype: 'm.text',
      body: part.plain,
      ...(part.marked ? { format: 'org.matrix.custom.html', formatted_body: part.text } : {}),
      ...(threadId === undefined ? {} : { 'm.relates_to': { rel_type: 'm.thread', event_id: threadId } }),
    };
    return call(path, { method: 'PUT', headers: { authorization: `Bearer ${token}` }, json }, reading);
  },
  check: ({ call, token }) =>
    call(
      '/_matrix/client/v3/account/whoami',
      { method: 'GET', headers: { authorization: `Bearer ${token}` } },
      { ...reading, receipt: (json) => textAt(json, 'user_id') },
    ),
});

async function roomOf(alias: string, { ask, token, now }: Pick<Connection<unknown, unknown>, 'ask' | 'token' | 'now'>) {
  const path = `/_matrix/client/v3/directory/room/${encodeURIComponent(alias)}`;
  const reply = await ask(path, { method: 'GET', headers: { authorization: `Bearer ${token}` } });
  const outcome = judge(reply, { ...reading, receipt: (json) => textAt(json, 'room_id') }, now());
  if (outcome.kind === 'sent') return outcome.receipt ?? '';
  // Nothing was sent yet, so an answer that got lost is only a failure.
  return outcome.kind === 'unknown' ? { kind: 'failed' as const, reason: outcome.reason } : outcome;
}
