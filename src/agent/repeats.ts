// Notices a model that goes in circles: the same call with the same result, again and again.

import { type Fields, isFields } from '../core/fields.ts';

export interface Repeats {
  /** Why the call should not be made once more, or undefined. */
  refusal(signature: string): string | undefined;
  /** Notes a call and what came back. */
  note(signature: string, output: string): void;
  /** True when the model kept asking after it was told. */
  readonly hopeless: boolean;
}

// In a row: nothing else was tried. In all: a task that polls may ask the same thing a few times between other calls.
const MAX_IN_A_ROW = 3;
const MAX_IN_ALL = 12;
const MAX_REFUSALS = 3;

export function watchRepeats(): Repeats {
  const same = new Map<string, { output: string; count: number }>();
  let last: string | undefined;
  let inARow = 0;
  let refusals = 0;

  return {
    refusal(signature) {
      const count = same.get(signature)?.count ?? 0;
      const stuck = (last === signature && inARow >= MAX_IN_A_ROW) || count >= MAX_IN_ALL;
      if (!stuck) return undefined;
      refusals += 1;
      return (
        `Refused: this exact call was already made ${count} times with the same result. ` +
        'Use that result, try something different, or give your final answer.'
      );
    },
    note(signature, output) {
      const before = same.get(signature);
      const unchanged = before?.output === output;
      same.set(signature, { output, count: unchanged ? before.count + 1 : 1 });
      inARow = unchanged && last === signature ? inARow + 1 : 1;
      last = signature;
    },
    get hopeless() {
      return refusals >= MAX_REFUSALS;
    },
  };
}

/** Equal for calls that mean the same, whatever the order of their keys. */
export function signatureOf(name: string, input: unknown): string {
  return `${name} ${JSON.stringify(input, (_key, value: unknown) => (isFields(value) ? sorted(value) : value))}`;
}

const sorted = (value: Fields): Fields =>
  Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
