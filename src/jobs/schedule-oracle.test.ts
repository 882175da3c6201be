// The scheduler against a brute-force scan of every minute: 504 expressions in each of 12 zones, over three years with their
// clock changes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dueMinutes, readZoneMinutes } from '../../test/support/minute-oracle.ts';
import { countDue, lastDue, nextDue, readSchedule, type Schedule } from './schedule.ts';

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'Europe/London',
  'America/New_York',
  'America/Sao_Paulo',
  'Australia/Lord_Howe',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Asia/Kathmandu',
  'Pacific/Chatham',
  'America/St_Johns',
  'Asia/Beirut',
];
const START = Date.UTC(2025, 0, 1);
const END = Date.UTC(2028, 0, 1);
const EXPRESSIONS = 504;
/** Beyond this many instants the walk is done by samples. */
const FULL_WALK = 20_000;
const HOUR_MS = 3_600_000;

const random = seeded(20261115);
const expressions = Array.from({ length: EXPRESSIONS }, (_, index) => expression(index));

for (const zone of ZONES) {
  test(`in ${zone} the scheduler agrees with a scan of every minute of three years`, () => {
    const minutes = readZoneMinutes(zone, START, END);
    for (const text of expressions) {
      const schedule = parsed(text, zone);
      const expected = dueMinutes(text, minutes);
      const say = (what: string): string => `${text} in ${zone}: ${what}`;
      if (expected.length <= FULL_WALK) {
        const found = walk(schedule, START - 1, END);
        const wrong = found.findIndex((at, position) => at !== expected[position]);
        assert.equal(wrong, -1, say(`instant ${wrong}`));
        assert.equal(found.length, expected.length, say('every instant'));
      }
      for (const change of minutes.changes) agreesAround(schedule, expected, START + change * 60_000, say);
      for (let i = 0; i < 40; i += 1) agreesAt(schedule, expected, START + Math.floor(random() * (END - START)), say);
    }
  });
}

test('at least 500 different expressions are compared', () => {
  assert.ok(new Set(expressions).size >= 500);
});

test('the count of swallowed instants is exact away from clock changes', () => {
  const minutes = readZoneMinutes('Europe/Berlin', START, START + 60 * 24 * HOUR_MS);
  for (const text of expressions.slice(0, 200)) {
    const expected = dueMinutes(text, minutes);
    const [first, last] = [expected.at(0), expected.at(-1)];
    if (first === undefined || last === undefined) continue;
    assert.equal(countDue(parsed(text, 'Europe/Berlin'), first, last), expected.length, text);
  }
});

function agreesAround(
  schedule: Schedule,
  expected: readonly number[],
  change: number,
  say: (what: string) => string,
): void {
  for (const minutes of [-121, -61, -31, -30, -1, 0, 1, 29, 59, 60, 61, 121]) {
    agreesAt(schedule, expected, change + minutes * 60_000 - 1, say);
  }
  agreesAt(schedule, expected, change, say);
}

function agreesAt(schedule: Schedule, expected: readonly number[], at: number, say: (what: string) => string): void {
  const after = firstAfter(expected, at);
  const next = expected[after];
  if (next !== undefined)
    assert.equal(nextDue(schedule, at)?.at, next, say(`next after ${new Date(at).toISOString()}`));
  const before = expected[after - 1];
  const first = expected[0];
  if (before === undefined || first === undefined) return;
  assert.equal(lastDue(schedule, first, at).at, before, say(`last until ${new Date(at).toISOString()}`));
}

function walk(schedule: Schedule, after: number, end: number): number[] {
  const found: number[] = [];
  for (let due = nextDue(schedule, after); due && due.at < end; due = nextDue(schedule, due.at)) found.push(due.at);
  return found;
}

function firstAfter(sorted: readonly number[], at: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) > at) high = middle;
    else low = middle + 1;
  }
  return low;
}

function parsed(text: string, zone: string): Schedule {
  const reading = readSchedule(text, zone, START - 1);
  assert.equal(reading.kind, 'schedule', `${text}: ${JSON.stringify(reading)}`);
  if (reading.kind !== 'schedule') throw new Error('unreachable');
  return reading.schedule;
}

/** Expressions of all shapes, most of them due in the hours in which clocks are changed. */
function expression(index: number): string {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const value = (min: number, max: number): number => min + Math.floor(random() * (max - min + 1));
  const range = (min: number, max: number): string => {
    const low = value(min, max - 1);
    return `${low}-${value(low + 1, max)}`;
  };
  const field = (min: number, max: number, star: number): string => {
    if (random() < star) return '*';
    const shape = random();
    if (shape < 0.4) return String(value(min, max));
    if (shape < 0.55) return `*/${value(2, Math.floor(max / 2))}`;
    if (shape < 0.7) return range(min, max);
    if (shape < 0.85) return `${range(min, max)}/${value(1, 4)}`;
    return [value(min, max), value(min, max), range(min, max)].join(',');
  };
  const minute = pick(['0', '30', '15', '*/5', '*/20', field(0, 59, 0.05), field(0, 59, 0.05)]);
  const hour = pick(['1', '2', '0', '3', '*', '*/2', '*/3', '0-3', '1,2', '2-4/2', field(0, 23, 0.2)]);
  const day = index % 3 === 0 ? field(1, 28, 0.2) : pick(['*', '*', '*', '1', '15', '29', '*/2', '1-7', '25-31']);
  const month = pick(['*', '*', '*', '*', '3', 'MAR', '10,11', 'mar-apr', '*/2', '4-10', 'FEB']);
  const weekday = pick(['*', '*', '*', 'SUN', '0', '7', '1-5', 'mon-fri', '5-7', '6', '*/2', 'FRI,SUN']);
  return `${minute} ${hour} ${day} ${month} ${weekday}`;
}

/** The same numbers in every run: a failure must be repeatable. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}
