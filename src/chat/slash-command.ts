// The contract of a slash command: what a person types in the chat instead of a prompt. One file in slash-commands/,
// one line in registry.ts.

import type { Address } from '../core/address.ts';

export interface SlashContext {
  /** The chat session: browser supervisors, the work folder and `origin` belong to it. */
  sessionId: string;
  /** Where jobs made here answer to: `chat:<session id>`. */
  origin: Address;
  /** Aborts when the person presses Ctrl-C. */
  signal: AbortSignal;
  /** Plain text for the person, whole lines; a newline is added. */
  print(text: string): void;
}

/** What the chat does after the command. */
export type SlashEffect =
  | { kind: 'quit' }
  | { kind: 'new_session' }
  /** Interrupts the turn in progress, if there is one. */
  | { kind: 'stop' }
  /** Uses this model for the rest of the chat; undefined goes back to the configured one. */
  | { kind: 'use_model'; name: string | undefined };

export interface SlashCommand {
  /** Without the slash. */
  name: string;
  aliases?: readonly string[];
  summary: string;
  /** Shown by /help when it is more than the name, e.g. `/browser connect [url] | disconnect | status`. */
  usage: string;
  /** True when it may hand on the address of the session: then the session is stored before it runs. */
  keepsSession?: true;
  /**
   * Gets the words after the name (quotes keep words together). What goes wrong is thrown as SvcError and shown with
   * its help; the chat goes on. Ends soon after the signal aborts.
   */
  run(words: readonly string[], context: SlashContext): Promise<SlashEffect | undefined>;
}
