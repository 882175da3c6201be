import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, test } from 'node:test';
import { createJsonLog, type JsonLogOptions } from './json-log.ts';
import { rotatingFile, terminalSink } from './log-sinks.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-log-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function collect(options: Partial<JsonLogOptions> = {}) {
  const lines: string[] = [];
  const log = createJsonLog({ level: 'debug', sinks: [{ write: (line) => void lines.push(line) }], ...options });
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? 'null') as Record<string, unknown> };
}

test('a line is JSON with time, level, message and fields, those of the parent included', () => {
  const { log, last } = collect();
  log.child({ part: 'http' }).warn('Slow', { ms: 12, nested: { a: [1] } });
  const { time, ...rest } = last();
  assert.match(String(time), /^\d{4}-\d\d-\d\dT/);
  assert.deepEqual(rest, { level: 'warn', message: 'Slow', part: 'http', ms: 12, nested: { a: [1] } });
});

test('lines below the level are not written', () => {
  const { log, lines } = collect({ level: 'warn' });
  log.info('x');
  log.debug('x');
  log.error('x');
  assert.equal(lines.length, 1);
});

test('secrets are hidden by key and by value, in every form they can take in a line', () => {
  const { log, lines } = collect({ secrets: ['hunter"2', 'p w'] });
  log.hide(['late-one']);
  log.info('saw hunter"2', { url: 'http://x/?k=p%20w', note: 'late-one', authorization: 'Bearer abc', api_key: 'abc' });
  const text = lines.join('\n');
  for (const secret of ['hunter', 'p%20w', 'late-one', 'abc']) assert.ok(!text.includes(secret), secret);
  assert.equal(JSON.parse(text).message, 'saw [hidden]');
});

test('counts of tokens are not secrets', () => {
  const { log, last } = collect();
  log.info('used', { inputTokens: 5, max_tokens: 7 });
  assert.deepEqual([last().inputTokens, last().max_tokens], [5, 7]);
});

test('control, direction and invisible characters are escaped, and the line still says the same', () => {
  const { log, lines, last } = collect();
  const text = 'a\u001b[31m\u202eb\u0085\u2028\u{e0041}c\nd';
  log.info(text);
  assert.match(lines[0] ?? '', /^[\x20-\x7e]*$/);
  assert.equal(last().message, text);
});

test('long fields are cut, a delivered text is not', () => {
  const { log, last } = collect();
  log.info('x', { body: 'y'.repeat(100_000), text: 'z'.repeat(100_000) });
  assert.ok(String(last().body).length < 9000);
  assert.match(String(last().body), /more characters\]$/);
  assert.equal(String(last().text).length, 100_000);
});

test('a circular value does not end the program', () => {
  const { log, lines } = collect();
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  log.info('x', { circle, big: 10n });
  assert.equal(lines.length, 1);
});

test('the file is rotated by size, old files are kept up to the limit, and all are private', () => {
  const path = join(folder, 'logs', 'gateway.log');
  const sink = rotatingFile(path, { maxBytes: 100, keepFiles: 2 });
  for (let number = 0; number < 20; number += 1) sink.write(`${number} ${'x'.repeat(40)}`);
  sink.close();
  assert.deepEqual(readdirSync(join(folder, 'logs')).sort(), ['gateway.log', 'gateway.log.1', 'gateway.log.2']);
  assert.match(readFileSync(path, 'utf8'), /^18 x+\n19 x+\n$/);
  assert.match(readFileSync(`${path}.1`, 'utf8'), /^16 /);
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test('on a terminal an event is one readable line that cannot drive the terminal', () => {
  const stream = new PassThrough() as unknown as NodeJS.WriteStream;
  const { log } = collect({ sinks: [terminalSink(stream)] });
  log.info('Started\u001b]0;x\u0007', { url: 'http://127.0.0.1:8644', text: 'two\nlines' });
  const shown = String((stream as unknown as PassThrough).read());
  assert.match(
    shown,
    /^\d\d:\d\d:\d\d info {2}Started\\u\{1b\}\]0;x\\u\{7\} {2}url=http:\/\/127\.0\.0\.1:8644 text="two\\nlines"\n$/,
  );
});
