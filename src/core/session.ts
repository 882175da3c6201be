// A chat session as it is stored: what was asked, every step of the answers, and what arrived from elsewhere.

import type { Step } from './step.ts';

export type SessionEntry =
  | { kind: 'prompt'; text: string }
  | Step
  /** The person stopped the turn; `text` is what had been said since the last step. */
  | { kind: 'interrupted'; text: string }
  /** The turn ended without an answer. */
  | { kind: 'failed'; reason: string }
  /** A message that came in by itself, e.g. the result of a job made in this chat. */
  | { kind: 'delivered'; text: string; source: string };

export interface Session {
  id: string;
  /** The first words that were said in it. */
  title: string;
  createdAt: number;
  updatedAt: number;
}

export interface StoredEntry {
  seq: number;
  entry: SessionEntry;
  /** False for a delivered message that nobody has seen yet. */
  shown: boolean;
  createdAt: number;
}
