// Every scenario once more, from the recording of a live run: no browser, the same expectations.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { scenarios } from '../../test/support/browser-scenarios.ts';
import { replay } from './cdp/recording.ts';
import { supervisorFields } from './snapshot.ts';

for (const { name, rule, checks } of scenarios) {
  test(`replayed: ${rule}`, () => {
    const text = readFileSync(new URL(`../../test/recordings/cdp/${name}.jsonl`, import.meta.url), 'utf8');
    const seen = new Set<string>();
    replay(text, (mark, state) => {
      checks[mark]?.(supervisorFields(state), state);
      seen.add(mark);
    });
    assert.deepEqual([...seen].sort(), Object.keys(checks).sort());
  });
}
