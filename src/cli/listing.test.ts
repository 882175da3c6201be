import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { printDetails, printListing } from './listing.ts';

function screen() {
  const stream = new PassThrough();
  return { stdout: stream as unknown as NodeJS.WriteStream, shown: () => String(stream.read() ?? '') };
}

const columns = [
  { title: 'NAME', value: (row: { name: string; count?: number }) => row.name },
  { title: 'COUNT', value: (row: { name: string; count?: number }) => row.count },
];

test('a listing is a table for people, JSON for programs and a sentence when it is empty', () => {
  const rows = [{ name: 'a', count: 1 }, { name: 'longer' }];
  const options = { columns, toJson: (row: { name: string }) => row, empty: 'Nothing yet.' };
  const table = screen();
  printListing(table, rows, { ...options, json: false });
  assert.equal(table.shown(), 'NAME    COUNT\na       1\nlonger\n');
  const json = screen();
  printListing(json, rows, { ...options, json: true });
  assert.deepEqual(JSON.parse(json.shown()), rows);
  const none = screen();
  printListing(none, [], { ...options, json: false });
  assert.equal(none.shown(), 'Nothing yet.\n');
});

test('text from outside stays on its line and cannot drive the terminal', () => {
  const { stdout, shown } = screen();
  printListing({ stdout }, [{ name: `two\nlines \u001b[31m${'x'.repeat(200)}` }], {
    columns,
    json: false,
    toJson: (row) => row,
    empty: '',
  });
  const [, line = '', rest] = shown().split('\n');
  assert.match(line, /^two lines \\u\{1b\}\[31mx+…$/);
  assert.equal(rest, '');
});

test('details leave out what has no value and indent further lines', () => {
  const { stdout, shown } = screen();
  printDetails({ stdout }, [
    ['id', 'run_1'],
    ['error', undefined],
    ['answer', 'one\ntwo'],
  ]);
  assert.equal(shown(), 'id      run_1\nanswer  one\n        two\n');
});
