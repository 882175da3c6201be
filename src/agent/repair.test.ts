import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { mendCall, parseLeniently, prepareCall, toolNamed } from './repair.ts';
import { defineTool, type Tool } from './tool.ts';

const tool = (name: string, input: z.ZodType): Tool =>
  defineTool({ name, description: '', input, toolsets: [], parallel: true, run: async () => ({ output: '' }) });

const search = tool(
  'search_files',
  z.object({
    query: z.string(),
    limit: z.number().optional(),
    deep: z.boolean().optional(),
    paths: z.array(z.string()).optional(),
  }),
);
const tools = [search, tool('read_file', z.object({ path: z.string() }))];

for (const written of [
  'search_files',
  'Search_Files',
  'searchFiles',
  'search-files',
  'functions.search_files',
  'tool:search_files',
]) {
  test(`"${written}" means search_files`, () => assert.equal(toolNamed(written, tools)?.name, 'search_files'));
}

test('a name that fits no tool, or two, fits none', () => {
  assert.equal(toolNamed('search', tools), undefined);
  assert.equal(toolNamed('a-b', [tool('a_b', z.object({})), tool('ab', z.object({}))]), undefined);
});

for (const [written, meant] of [
  ['{"query": "x"}', { query: 'x' }],
  ['', {}],
  ['```json\n{"query": "x"}\n```', { query: 'x' }],
  ['{"query": "x",}', { query: 'x' }],
  ['{"paths": ["a", "b",], }', { paths: ['a', 'b'] }],
  ['{"query": "x"', { query: 'x' }],
  ['{"paths": ["a", "b"', { paths: ['a', 'b'] }],
  ["{'query': 'it\\'s', 'deep': True, 'limit': None}", { query: "it's", deep: true, limit: null }],
] as const) {
  test(`arguments written as ${JSON.stringify(written)} are read`, () =>
    assert.deepEqual(parseLeniently(written), meant));
}

for (const written of ['{"query": "cut in the midd', 'query: x', '{"a": }', 'I will search now']) {
  test(`arguments written as ${JSON.stringify(written)} are not guessed`, () =>
    assert.equal(parseLeniently(written), undefined));
}

for (const [given, input] of [
  [
    { query: 'x', limit: '5', deep: 'true' },
    { query: 'x', limit: 5, deep: true },
  ],
  [{ query: 7 }, { query: '7' }],
  [
    { query: 'x', paths: '["a"]' },
    { query: 'x', paths: ['a'] },
  ],
  [{ query: 'x', limit: null }, { query: 'x' }],
  [{ arguments: { query: 'x' } }, { query: 'x' }],
  [{ input: '{"query": "x"}' }, { query: 'x' }],
] as const) {
  test(`${JSON.stringify(given)} becomes what the tool expects`, () => {
    assert.deepEqual(prepareCall({ id: '1', name: 'search_files', arguments: given }, tools), {
      kind: 'ready',
      tool: search,
      input,
    });
  });
}

test('arguments quoted once too often are unpacked before they are stored', () => {
  const call = mendCall({ id: '1', name: 'searchFiles', arguments: '{"query": "x"}' }, tools);
  assert.deepEqual(call, { id: '1', name: 'search_files', arguments: { query: 'x' } });
});

test('a right argument is never changed', () => {
  const given = { query: '5', paths: ['true', 'null'] };
  const prepared = prepareCall({ id: '1', name: 'search_files', arguments: given }, tools);
  assert.deepEqual(prepared.kind === 'ready' && prepared.input, given);
});

test('what cannot be mended names the field', () => {
  const prepared = prepareCall({ id: '1', name: 'search_files', arguments: { limit: 'many' } }, tools);
  assert.match(prepared.kind === 'unusable' ? prepared.reason : '', /do not fit search_files[\s\S]*query/);
});
