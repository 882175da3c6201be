// Which keys of `deliver_extra` mean something. One `deliver_extra` serves all targets of an address list, so a key is
// right when one of them knows it.

import type { Address } from '../core/address.ts';
import { nearest } from '../core/nearest.ts';
import { findTarget, targets } from './registry.ts';
import type { Target } from './target.ts';

const EVERYWHERE = ['chat_id', 'thread_id', 'message_thread_id'];

/** A sentence for each key that none of the targets knows. Unknown targets are somebody else's business. */
export function extraKeyProblems(addresses: readonly Address[], keys: Iterable<string>): string[] {
  const named = addresses.flatMap((address) => findTarget(address.target) ?? []);
  // A route keeps the keys of its target while it delivers to the log for a while.
  const asked = named.every(({ name }) => name === 'log' || name === 'local') ? targets : named;
  const known = [...new Set([...EVERYWHERE, ...asked.flatMap(keysOf)])];
  return [...keys].filter((key) => !known.includes(key)).map((key) => sentence(key, known));
}

const keysOf = (target: Target): string[] => Object.keys(target.extra.shape);

function sentence(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  const hint = meant === undefined ? `Known keys: ${known.join(', ')}.` : `Did you mean \`${meant}\`?`;
  return `deliver_extra has no key \`${key.slice(0, 40)}\` here. ${hint}`;
}
