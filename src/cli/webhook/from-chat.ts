// What an agent in a chat may do to subscriptions: make new ones, and change or remove those that were made in a chat and
// not touched by a person since.

import { SvcError } from '../../core/errors.ts';
import { FROM_CHAT } from '../../tools/own-command.ts';
import type { SubscriptionRecord } from '../../webhooks/subscriptions.ts';

export const isFromChat = (env: NodeJS.ProcessEnv): boolean => env[FROM_CHAT] === '1';

/** The key of a record that tells whose it is. */
export const ownerOf = (fromChat: boolean): SubscriptionRecord => (fromChat ? { managed_by: 'chat' } : {});

/** Throws SvcError `conflict`. */
export function requireMadeInChat(name: string, record: SubscriptionRecord): void {
  if (record.managed_by === 'chat') return;
  throw new SvcError('conflict', `The user made the subscription ${name}; it is not changed or removed from a chat.`, {
    help: 'Make one with another name, or give the user the command to run in a shell.',
  });
}
