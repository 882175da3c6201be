// The chat itself as a place for messages: `chat:<session id>`. What a job made in a chat answers is kept in that session
// and shown at its next prompt, also when nobody was there.

import { defineTarget, noKeys, type Target } from '../delivery/target.ts';
import { deliverToSession } from '../store/sessions.ts';
import type { Store } from '../store/store.ts';

export const CHAT_TARGET = 'chat';

export const createChatTarget = (deps: { store(): Promise<Pick<Store, 'write'>>; now(): number }): Target =>
  defineTarget({
    name: CHAT_TARGET,
    title: 'Chat session',
    builtIn: true,
    chat: { about: 'the id of a chat session', example: 'chat_0k3v9', pattern: /^chat_[A-Za-z0-9_-]+$/ },
    env: {},
    limit: { count: 1_000_000, unit: 'code_points' },
    markup: 'plain',
    idempotency: 'the key of the delivery',
    settings: noKeys,
    extra: noKeys,
    async send(part, { chatId }) {
      const store = await deps.store();
      const { key, markdown: text, source } = part;
      const kept = await store.write(deliverToSession({ sessionId: chatId, key, text, source, at: deps.now() }));
      if (!kept) return { kind: 'refused', reason: `there is no chat session ${chatId}` };
      return { kind: 'sent', receipt: chatId };
    },
  });
