// One attempt to send one message. Outcomes are values; nothing here retries, stores or decides when to try again.

import type { Address } from '../core/address.ts';

export interface OutgoingMessage {
  /** Stable over all attempts: the idempotency key where the platform has one. */
  id: string;
  address: Address;
  /** Markdown as the agent wrote it; each target renders its own dialect. */
  text: string;
  /** Names the route, job or command, for titles, subjects and file names. */
  source: string;
  /** How many parts of a split text were sent by earlier attempts. */
  partsSent: number;
}

export type DeliveryOutcome =
  /** `receipt` is what the platform calls the message (an id, a URL, a path). */
  | { kind: 'delivered'; receipt?: string; note?: string }
  /** Final: the target said no, or cannot ever work. `reason` is for the operator and holds no secret. */
  | { kind: 'refused'; reason: string; partsSent: number }
  /** Worth another try, not before `afterMs` when given. */
  | { kind: 'failed'; reason: string; partsSent: number; afterMs?: number }
  /** Sent, but no answer came: it may have arrived. */
  | { kind: 'unknown'; reason: string; partsSent: number };

export interface Deliverer {
  /** Why this address can never work as things are set up, or undefined. Never calls the network. */
  problem(address: Address): string | undefined;
  /** One attempt; ends when the signal aborts (outcome `failed` or `unknown`). Never throws, never logs a secret. */
  attempt(message: OutgoingMessage, signal: AbortSignal): Promise<DeliveryOutcome>;
}
