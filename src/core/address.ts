// Where a message goes: `target`, `target:chat` or `target:chat:thread`, several separated by commas.

export interface Address {
  /** As the user wrote it: a real name or a stand-in. `names.ts` knows the canonical spelling. */
  target: string;
  chatId?: string;
  threadId?: string;
  /** Further target-specific keys, already rendered (`repo`, `pr_number`, `subject`, ...). */
  extra?: Record<string, string>;
}
