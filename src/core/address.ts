// Where a message goes: `target`, `target:chat` or `target:chat:thread`, several separated by commas.
// Knows the shape only: which targets exist and what they need is the business of the delivery room.

import { canonicalTarget } from './names.ts';

export interface Address {
  /** As the user wrote it: a real name or a stand-in. `names.ts` knows the canonical spelling. */
  target: string;
  chatId?: string;
  threadId?: string;
  /** Further target-specific keys, already rendered (`repo`, `pr_number`, `subject`, ...). */
  extra?: Record<string, string>;
}

export type ParsedAddresses = { kind: 'ok'; addresses: Address[] } | { kind: 'invalid'; reason: string };

/** Targets whose chat ids contain colons: what belongs to the chat, and what is left for the thread. */
const CHAT_SHAPES: Readonly<Record<string, RegExp>> = {
  // `!room:server`, `#alias:server:8448`, `@user:server`; a thread is an event id and starts with `$`.
  matrix: /^(?<chat>.+?)(?::(?<thread>\$.+))?$/s,
  signal: /^(?<chat>group:[^:]+|[^:]+)$/s,
  qqbot: /^(?<chat>(?:c2c|group|channel):[^:]+|[^:]+)$/s,
  webhook: /^(?<chat>.+)$/s,
};
const PLAIN_SHAPE = /^(?<chat>[^:]+)(?::(?<thread>[^:]+))?$/s;
const TARGET_NAME = /^[a-z][a-z0-9_-]*$/i;

/** Reads one or more addresses; equal ones are kept once. */
export function parseAddresses(text: string): ParsedAddresses {
  const addresses = new Map<string, Address>();
  for (const piece of text.split(',')) {
    const parsed = parseOne(piece.trim());
    if (typeof parsed === 'string') return { kind: 'invalid', reason: parsed };
    addresses.set(formatAddress(parsed), parsed);
  }
  return { kind: 'ok', addresses: [...addresses.values()] };
}

/** `target:chat:thread` with only the parts that are there. Extra keys are not shown. */
export function formatAddress(address: Address): string {
  return [address.target, address.chatId, address.threadId].filter((part) => part !== undefined).join(':');
}

/** The address of a route: its `deliver` value and the rendered `deliver_extra`, where `chat_id` and `thread_id` win. */
export function addressWithExtra(address: Address, deliverExtra: Readonly<Record<string, string>>): Address {
  const { chat_id, message_thread_id, thread_id, ...extra } = deliverExtra;
  const chatId = chat_id ?? address.chatId;
  const threadId = message_thread_id ?? thread_id ?? address.threadId;
  return {
    target: address.target,
    ...(chatId ? { chatId } : {}),
    ...(threadId ? { threadId } : {}),
    ...(Object.keys(extra).length > 0 ? { extra: { ...address.extra, ...extra } } : {}),
  };
}

function parseOne(text: string): Address | string {
  const colon = text.indexOf(':');
  const target = colon === -1 ? text : text.slice(0, colon);
  if (target === '') return 'An address is empty. Write it as target, target:chat or target:chat:thread.';
  if (!TARGET_NAME.test(target)) return `"${shown(target)}" is not the name of a target.`;
  if (colon === -1) return { target };
  const shape = CHAT_SHAPES[canonicalTarget(target)] ?? PLAIN_SHAPE;
  const parts = shape.exec(text.slice(colon + 1))?.groups;
  if (!parts?.chat) return `"${shown(text)}" is not an address. Write it as target, target:chat or target:chat:thread.`;
  return { target, chatId: parts.chat, ...(parts.thread ? { threadId: parts.thread } : {}) };
}

const shown = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);
