import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Filter } from '../config/schema.ts';
import type { Json } from '../core/json.ts';
import { applyFilters, filterProblems } from './filters.ts';

const passes = (filter: Filter | readonly Filter[], payload: Json): boolean =>
  applyFilters(filter, { payload, event: 'push', headers: { 'x-github-event': 'push', 'x-team': 'core' } }).kind ===
  'passed';

test('every operator, over values that are there and that are not', () => {
  const payload = { s: 'hello', n: 1, l: [1, { a: 2 }], o: { a: { b: null } } };
  const cases: [Filter, boolean][] = [
    [{ field: 's', exists: true }, true],
    [{ field: 'x', exists: true }, false],
    [{ field: 'o.a.b', exists: true }, true],
    [{ field: 'x', missing: true }, true],
    [{ field: 's', missing: true }, false],
    [{ field: 's', equals: 'hello' }, true],
    [{ field: 'n', equals: '1' }, false],
    [{ field: 'o', equals: { a: { b: null } } }, true],
    [{ field: 'x', equals: null }, false],
    [{ field: 'x', not_equals: 1 }, true],
    [{ field: 'n', not_equals: 1 }, false],
    [{ field: 's', contains: 'ell' }, true],
    [{ field: 'l', contains: { a: 2 } }, true],
    [{ field: 'l', contains: 3 }, false],
    [{ field: 'n', contains: 1 }, false],
    [{ field: 'n', in: [3, 1] }, true],
    [{ field: 'n', in: ['1'] }, false],
    [{ field: 's', regex: '^h.*o$' }, true],
    [{ field: 'n', regex: '^1$' }, true],
    [{ field: 'o', regex: '.' }, false],
    [{ field: 'x', regex: '.*' }, false],
    [{ field: 'event', equals: 'push' }, true],
    [{ field: 'headers.X-Team', equals: 'core' }, true],
    [{ field: 'headers.x-hosta-event', equals: 'push' }, true],
    [{ field: 'payload.s', equals: 'hello' }, true],
    [{ field: 'l.1.a', equals: 2 }, true],
    [{ field: '__proto__', exists: true }, false],
    [{ field: 'l.length', exists: true }, false],
    [
      {
        all: [
          { field: 's', exists: true },
          { field: 'n', equals: 1 },
        ],
      },
      true,
    ],
    [
      {
        all: [
          { field: 's', exists: true },
          { field: 'n', equals: 2 },
        ],
      },
      false,
    ],
    [
      {
        any: [
          { field: 'n', equals: 2 },
          { field: 'n', equals: 1 },
        ],
      },
      true,
    ],
    [{ not: { any: [{ field: 'n', equals: 2 }] } }, true],
  ];
  for (const [filter, expected] of cases) assert.equal(passes(filter, payload), expected, JSON.stringify(filter));
  assert.equal(
    passes(
      [
        { field: 'n', equals: 1 },
        { field: 's', equals: 'no' },
      ],
      payload,
    ),
    false,
  );
});

test('a pattern that backtracks for ever is stopped, and then nothing passes, not even by negation', () => {
  const evil: Filter = { field: 't', regex: '^(a+)+$' };
  const payload = { t: `${'a'.repeat(50_000)}!` };
  for (const filter of [evil, { not: evil }, { any: [evil, { field: 't', exists: true }] }] satisfies Filter[]) {
    const verdict = applyFilters(filter, { payload, event: '', headers: {} });
    assert.equal(verdict.kind, 'filtered');
    assert.match(verdict.kind === 'filtered' ? verdict.reason : '', /took longer/);
  }
  assert.equal(passes({ field: 't', regex: '^a+!$' }, payload), true);
});

test('a pattern cannot reach out of its context', () => {
  assert.equal(passes({ field: 't', regex: 'constructor' }, { t: 'constructor' }), true);
  assert.equal(Reflect.get(globalThis, 'pattern'), undefined);
});

test('broken patterns are found at start, however deep they stand', () => {
  assert.deepEqual(filterProblems([{ field: 'a', regex: 'ok' }]), []);
  assert.equal(
    filterProblems({ all: [{ not: { field: 'a', regex: '(' } }, { any: [{ field: 'b', regex: '[' }] }] }).length,
    2,
  );
});
