// How sending one part ended. All of it is expected, so all of it is a value.

export type SendOutcome =
  | { kind: 'sent'; receipt?: string; note?: string }
  | { kind: 'refused'; reason: string }
  /** The same part is sent once more as plain text. */
  | { kind: 'markup_refused'; reason: string }
  | { kind: 'failed'; reason: string; afterMs?: number }
  | { kind: 'unknown'; reason: string };
