import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { countDue, lastDue, nextDue, readInstant, readSchedule, type Schedule } from './schedule.ts';
import { readSpan, writeSpan } from './span.ts';

const NOW = Date.UTC(2026, 10, 15, 12, 0, 30);
const MINUTE = 60_000;

function schedule(text: string, zone = 'UTC'): Schedule {
  const reading = readSchedule(text, zone, NOW);
  if (reading.kind === 'invalid') assert.fail(`${text}: ${reading.reason}`);
  return reading.schedule;
}

function next(text: string, zone = 'UTC', after = NOW): string | undefined {
  const due = nextDue(schedule(text, zone), after);
  return due && new Date(due.at).toISOString();
}

function refusal(text: string, zone = 'UTC'): string {
  const reading = readSchedule(text, zone, NOW);
  if (reading.kind === 'schedule') assert.fail(`${text.slice(0, 50)} was accepted`);
  assert.notEqual(reading.help, '');
  return reading.reason;
}

test('every form of the contract is understood', () => {
  assert.equal(next('every 5m'), '2026-11-15T12:05:30.000Z');
  assert.equal(next('every 2h'), '2026-11-15T14:00:30.000Z');
  assert.equal(next('EVERY 1 day'), '2026-11-16T12:00:30.000Z');
  assert.equal(next('in 90 minutes'), '2026-11-15T13:30:30.000Z');
  assert.equal(next('0 9 * * 1-5'), '2026-11-16T09:00:00.000Z');
  assert.equal(next('*/6 * * * *'), '2026-11-15T12:06:00.000Z');
  assert.equal(next('0 0 * * 0'), '2026-11-22T00:00:00.000Z');
  assert.equal(next('0 0 * * 7'), '2026-11-22T00:00:00.000Z');
  assert.equal(next('30 8 * jan,FEB MON-fri'), '2027-01-01T08:30:00.000Z');
  assert.equal(next('@hourly'), '2026-11-15T13:00:00.000Z');
  assert.equal(next('@daily'), '2026-11-16T00:00:00.000Z');
  assert.equal(next('@weekly'), '2026-11-22T00:00:00.000Z');
  assert.equal(next('@monthly'), '2026-12-01T00:00:00.000Z');
  assert.equal(next('2027-01-31T18:00', 'Europe/Berlin'), '2027-01-31T17:00:00.000Z');
  assert.equal(next('2027-01-31 18:00:30+02:00'), '2027-01-31T16:00:30.000Z');
  assert.equal(next('2026-11-15T12:00Z'), undefined, 'a time that has passed is due no more');
});

test('day of month and day of week together mean either', () => {
  assert.equal(next('0 0 20 * MON'), '2026-11-16T00:00:00.000Z');
  assert.equal(next('0 0 20 * MON', 'UTC', Date.UTC(2026, 10, 17)), '2026-11-20T00:00:00.000Z');
});

test('29 February is found eight years away, over the year 2100', () => {
  assert.equal(next('0 0 29 2 *', 'UTC', Date.UTC(2096, 2, 1)), '2104-02-29T00:00:00.000Z');
});

test('what cannot be meant is refused with the field and a way out', () => {
  assert.match(refusal('every 0m'), /no time at all/);
  assert.match(refusal('every -5m'), /not understood/);
  assert.match(refusal('every 1.5h'), /not understood/);
  assert.match(refusal('every 10s'), /not understood/);
  assert.match(refusal('every 99999999999d'), /ten years/);
  assert.match(refusal(`every ${'9'.repeat(200)}m`), /ten years/);
  assert.match(refusal('30m'), /once or again/);
  assert.match(refusal('*/0 * * * *'), /minute step/);
  assert.match(refusal('60 * * * *'), /minute field has `60`; allowed are 0-59/);
  assert.match(refusal('0 24 * * *'), /hour field/);
  assert.match(refusal('0 0 0 * *'), /day of month field/);
  assert.match(refusal('0 0 * 13 *'), /month field.*JAN-DEC/);
  assert.match(refusal('0 0 * MON *'), /month field/);
  assert.match(refusal('0 0 * * 8'), /day of week field/);
  assert.match(refusal('5-1 * * * *'), /runs backwards/);
  assert.match(refusal('1,,2 * * * *'), /minute field/);
  assert.match(refusal('5/15 * * * *'), /needs a range in front/);
  assert.match(refusal('0 0 L * *'), /day of month field/);
  assert.match(refusal('0 0 * * 1#2'), /day of week field/);
  assert.match(refusal('0 0 ? * *'), /day of month field/);
  assert.match(refusal('0 0 * * * *'), /this has 6/);
  assert.match(refusal('0 0 * *'), /this has 4/);
  assert.match(refusal('@reboot'), /@hourly, @daily/);
  assert.match(refusal('0 0 31 2 *'), /never fires/);
  assert.match(refusal('0 0 30,31 2 *'), /never fires/);
  assert.match(refusal('0 0 31 4,6,9,11 *'), /never fires/);
  assert.match(refusal(''), /empty/);
  assert.match(refusal(' \n'), /empty/);
  assert.match(refusal('tomorrow'), /this has 1/);
  assert.match(refusal('2026-02-31T10:00'), /not a date/);
  assert.match(refusal('2026-12-24'), /not a date and time/);
  assert.match(refusal('* * * * *'.repeat(110_000)), /characters; the limit is 256/);
  assert.match(refusal('0 9 * * *', 'Mars/Olympus'), /no time zone "Mars\/Olympus"/);
  assert.match(refusal('0 9 * * *', 'x'.repeat(1_000_000)), /no time zone/);
});

test('a zone that does not exist brings up the one that was meant', () => {
  for (const [written, meant] of [
    ['Europe/Lisbn', 'Europe/Lisbon'],
    ['Sao Paulo', 'America/Sao_Paulo'],
    ['europe/lisbo', 'Europe/Lisbon'],
  ]) {
    const reading = readSchedule('@daily', written, NOW);
    assert.ok(reading.kind === 'invalid' && reading.help.includes(`Did you mean ${meant}?`), written);
  }
});

test('intervals are elapsed time: no drift, no clock change', () => {
  const every = schedule('every 6h', 'Europe/Berlin');
  let at = NOW;
  for (let count = 1; count <= 4 * 365; count += 1) {
    at = nextDue(every, at)?.at ?? 0;
    assert.equal(at, NOW + count * 6 * 60 * MINUTE);
  }
});

test('a date that the zone skipped as a whole is due right after it', () => {
  const samoa = schedule('30 12 30 12 *', 'Pacific/Apia');
  const due = nextDue(samoa, Date.UTC(2011, 11, 1));
  assert.equal(due && new Date(due.at).toISOString(), '2011-12-30T10:00:00.000Z');
  assert.match(due?.note ?? '', /did not exist/);
});

test('a time once in the spring gap is due right after it, once in the repeated hour the first time', () => {
  assert.equal(readInstant('2026-03-29 02:30', 'Europe/Berlin')?.at, Date.UTC(2026, 2, 29, 1));
  assert.equal(readInstant('2026-10-25 02:30', 'Europe/Berlin')?.at, Date.UTC(2026, 9, 25, 0, 30));
});

const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata');
const field = (min: number, max: number) => {
  const value = fc.integer({ min, max });
  const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const item = fc.oneof(
    value.map(String),
    range,
    fc.tuple(fc.oneof(fc.constant('*'), range), fc.integer({ min: 1, max })).map(([of, step]) => `${of}/${step}`),
  );
  return fc.oneof(
    fc.constant('*'),
    fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => items.join(',')),
  );
};
const expressions = fc
  .tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 7))
  .map((fields) => fields.join(' '));
const instants = fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2030, 0, 1) });

test('property: due instants grow, are never before now, and last and next agree', () => {
  fc.assert(
    fc.property(expressions, zones, instants, (text, zone, at) => {
      const reading = readSchedule(text, zone, at);
      if (reading.kind === 'invalid') {
        assert.match(reading.reason, /never fires/, text);
        return;
      }
      const first = nextDue(reading.schedule, at);
      const second = first && nextDue(reading.schedule, first.at);
      assert.ok(first && first.at > at, text);
      assert.ok(second && second.at > first.at, text);
      assert.equal(nextDue(reading.schedule, first.at - 1)?.at, first.at);
      assert.equal(lastDue(reading.schedule, first.at, second.at - 1).at, first.at);
      assert.equal(lastDue(reading.schedule, first.at, second.at).at, second.at);
      assert.equal(countDue(reading.schedule, first.at, first.at), 1);
    }),
    { numRuns: 2000 },
  );
});

test('property: no text makes the parser throw, or take long', () => {
  const noise = fc.oneof(
    fc.string({ maxLength: 400, unit: 'binary' }),
    fc
      .array(fc.constantFrom('*', '/', '-', ',', ' ', '0', '7', '59', 'MON', 'jan', '@', 'every', 'in', 'm', 'L', '#'))
      .map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(noise, fc.oneof(zones, fc.string()), instants, (text, zone, at) => {
      const reading = readSchedule(text, zone, at);
      if (reading.kind === 'schedule') assert.notEqual(nextDue(reading.schedule, at - 400 * 86_400_000), undefined);
      else assert.ok(reading.reason.length < 500 && reading.help.length > 0);
    }),
    { numRuns: 3000 },
  );
});

test('property: a span that is written is read again', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000_000 }), (seconds) => {
      assert.equal(readSpan(writeSpan(seconds * 1000)), seconds * 1000);
    }),
  );
});
