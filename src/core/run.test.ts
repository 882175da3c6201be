import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isFinal, LEGAL_MOVES, RUN_STATES } from './run.ts';

test('docs/states.md lists exactly the legal moves of a run', () => {
  const page = readFileSync(new URL('../../docs/states.md', import.meta.url), 'utf8');
  const runs = page.slice(page.indexOf('## Runs'), page.indexOf('## Messages'));
  const rows = [...runs.matchAll(/^\| `(\w+)` \|[^|]*\| ([^|]*) \|$/gm)].map(([, state, next = '']) => [
    state,
    [...next.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  ]);
  assert.deepEqual(Object.fromEntries(rows), LEGAL_MOVES);
});

test('a run can reach every state from queued, and from every state that is not final it can end', () => {
  const reachable = (from: readonly string[]): Set<string> => {
    const seen = new Set<string>(from);
    for (const state of seen) for (const next of LEGAL_MOVES[state as keyof typeof LEGAL_MOVES]) seen.add(next);
    return seen;
  };
  assert.deepEqual([...reachable(['queued'])].sort(), [...RUN_STATES].sort());
  for (const state of RUN_STATES) {
    if (!isFinal(state)) assert.ok([...reachable([state])].some((next) => isFinal(next as typeof state)));
  }
});
