// From the text of a schedule to its due instants. Intervals are elapsed time from an anchor; cron follows the wall clock:
// a time of day that the clock skips is due once right after the gap, one that it shows twice is due the first time only,
// and an hour field that starts with `*` follows the clock through both (nothing made up, both passes run).

import { type CronExpression, countWalls, lastWall, nextWall, readCron } from './cron-expression.ts';
import { hostZone, instantsOf, isZone, showWall, steadyAround, wallAt, zonesLike } from './zone.ts';

export type Schedule =
  | { kind: 'interval'; periodMs: number; anchorAt: number }
  | { kind: 'once'; at: number; note?: string }
  | { kind: 'cron'; cron: CronExpression; zone: string };

export interface Due {
  at: number;
  /** What a clock change did to this due time, for people. */
  note?: string;
}

export type ScheduleReading =
  | { kind: 'schedule'; schedule: Schedule; zone: string }
  | { kind: 'invalid'; reason: string; help: string };

const MINUTE_MS = 60_000;
const UNIT_MS = { m: MINUTE_MS, h: 60 * MINUTE_MS, d: 24 * 60 * MINUTE_MS } as const;
const MAX_TEXT = 256;
const MAX_PERIOD_MS = 3660 * UNIT_MS.d;

const EXAMPLES =
  'Write for example `every 15m`, `every 6h`, `in 30m`, `0 9 * * 1-5` (weekdays at 9), `@daily` or `2027-01-31T18:00`.';

/** `anchorAt` is when the schedule was set: intervals and `in …` count from it. Never reads the clock. */
export function readSchedule(text: string, zone: string | undefined, anchorAt: number): ScheduleReading {
  const invalid = (reason: string, help = EXAMPLES): ScheduleReading => ({ kind: 'invalid', reason, help });
  if (text.length > MAX_TEXT) return invalid(`The schedule has ${text.length} characters; the limit is ${MAX_TEXT}.`);
  const trimmed = text.trim();
  if (trimmed === '') return invalid('The schedule is empty.');
  const used = zone ?? hostZone();
  if (!isZone(used)) {
    const near = zonesLike(used);
    const meant = near.length > 0 ? `Did you mean ${near.join(' or ')}? ` : '';
    return invalid(
      `There is no time zone ${JSON.stringify(used.slice(0, 64))}.`,
      `${meant}Use a name such as Europe/Berlin or UTC.`,
    );
  }
  const span = /^(?:(every|in)\s+)?([0-9]+)\s*(m|min|mins|minutes?|h|hr|hrs|hours?|d|days?)$/i.exec(trimmed);
  if (span) return readSpan(span, used, anchorAt);
  if (/^(every|in)\b/i.test(trimmed))
    return invalid(`\`${trimmed}\` is not understood: after "every" or "in" comes a whole number with m, h or d.`);
  if (/^\d{4}-\d{2}/.test(trimmed)) return readTime(trimmed, used);
  const reading = readCron(trimmed);
  if (reading.kind === 'invalid') return invalid(reading.reason);
  const schedule: Schedule = { kind: 'cron', cron: reading.cron, zone: used };
  if (nextDue(schedule, anchorAt) === undefined)
    return invalid(`\`${trimmed}\` never fires: no date matches it.`, 'Look at day and month, e.g. `0 0 28 2 *`.');
  return { kind: 'schedule', schedule, zone: used };
}

/** The first due instant after `after`, or undefined when there is none. */
export function nextDue(schedule: Schedule, after: number): Due | undefined {
  if (schedule.kind === 'once') return schedule.at > after ? onceDue(schedule) : undefined;
  if (schedule.kind === 'interval') {
    const { anchorAt, periodMs } = schedule;
    return { at: anchorAt + Math.max(1, Math.floor((after - anchorAt) / periodMs) + 1) * periodMs };
  }
  return schedule.cron.everyHour ? nextByClock(schedule, after) : nextByTimeOfDay(schedule, after);
}

/** The last due instant at or before `until` and not before `from`, which must be a due instant itself. */
export function lastDue(schedule: Schedule, from: number, until: number): Due {
  if (schedule.kind === 'once') return onceDue(schedule);
  if (schedule.kind === 'interval')
    return { at: from + Math.floor((until - from) / schedule.periodMs) * schedule.periodMs };
  const due = schedule.cron.everyHour ? previousByClock(schedule, until) : previousByTimeOfDay(schedule, until);
  return due && due.at > from ? due : (nextDue(schedule, from - 1) ?? { at: from });
}

/** How many due instants lie in [from, until], `from` being one of them. Exact away from clock changes. */
export function countDue(schedule: Schedule, from: number, until: number): number {
  if (schedule.kind === 'once') return 1;
  if (schedule.kind === 'interval') return Math.floor((until - from) / schedule.periodMs) + 1;
  const { zone, cron } = schedule;
  return Math.max(1, countWalls(cron, wallAt(zone, from), wallAt(zone, until) + 1));
}

/** The time between due instants around `at`; undefined for what happens once. */
export function periodAt(schedule: Schedule, at: number): number | undefined {
  if (schedule.kind === 'once') return undefined;
  if (schedule.kind === 'interval') return schedule.periodMs;
  const next = nextDue(schedule, at);
  return next && next.at - at;
}

/** A time as people write it (`2026-03-29 02:30`, with or without zone), or undefined. Gaps end after, repeats first. */
export function readInstant(text: string, zone: string): Due | undefined {
  const match = /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,3})?)?\s*(Z|[+-]\d{2}:?\d{2})?$/i.exec(
    text.trim(),
  );
  if (!match) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0));
  if (year === undefined || month === undefined || day === undefined) return undefined;
  const wall = Date.UTC(year, month - 1, day, hour, minute, second);
  // Date.UTC rolls 31 February over into March; such a date was not meant.
  const rolled = new Date(wall);
  if (rolled.getUTCMonth() + 1 !== month || rolled.getUTCDate() !== day || (hour ?? 0) > 23 || (minute ?? 0) > 59)
    return undefined;
  const offset = match[7];
  if (offset === undefined) return dueOfWall(zone, wall);
  if (/^z$/i.test(offset)) return { at: wall };
  const [hours, minutes] = [Number(offset.slice(1, 3)), Number(offset.slice(-2))];
  return { at: wall - (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * MINUTE_MS };
}

function readSpan(match: RegExpExecArray, zone: string, anchorAt: number): ScheduleReading {
  const [whole, word, digits = '', unitWord = 'm'] = match;
  const invalid = (reason: string, help = EXAMPLES): ScheduleReading => ({ kind: 'invalid', reason, help });
  if (word === undefined)
    return invalid(`\`${whole}\` could mean once or again and again.`, `Write \`in ${whole}\` or \`every ${whole}\`.`);
  const unit = unitWord[0]?.toLowerCase() as keyof typeof UNIT_MS;
  const periodMs = Number(digits) * UNIT_MS[unit];
  if (periodMs === 0) return invalid(`\`${whole}\` is no time at all; the shortest is 1m.`);
  if (!(periodMs <= MAX_PERIOD_MS)) return invalid(`\`${whole}\` is more than ten years.`);
  if (word.toLowerCase() === 'in')
    return { kind: 'schedule', schedule: { kind: 'once', at: anchorAt + periodMs }, zone };
  return { kind: 'schedule', schedule: { kind: 'interval', periodMs, anchorAt }, zone };
}

function readTime(text: string, zone: string): ScheduleReading {
  const due = readInstant(text, zone);
  if (due) return { kind: 'schedule', schedule: { kind: 'once', ...due }, zone };
  return {
    kind: 'invalid',
    reason: `\`${text}\` is not a date and time that exists.`,
    help: 'Write it as `2027-01-31T18:00` (in the time zone of the job) or `2027-01-31T18:00Z`.',
  };
}

const onceDue = (schedule: { at: number; note?: string }): Due =>
  schedule.note === undefined ? { at: schedule.at } : { at: schedule.at, note: schedule.note };

function nextByTimeOfDay(schedule: { cron: CronExpression; zone: string }, after: number): Due | undefined {
  let wall = wallAt(schedule.zone, after);
  // In the second pass of a repeated hour the wall clock has gone back; later matches were due in the first pass already.
  for (;;) {
    const match = nextWall(schedule.cron, wall);
    if (match === undefined) return undefined;
    const due = dueOfWall(schedule.zone, match);
    if (due.at > after) return due;
    wall = match;
  }
}

function previousByTimeOfDay(schedule: { cron: CronExpression; zone: string }, until: number): Due | undefined {
  let wall = wallAt(schedule.zone, until);
  // In the second pass of a repeated hour, later times of day have been due already.
  const now = instantsOf(schedule.zone, wall);
  if (now.kind === 'repeated') wall += now.second - now.first;
  for (;;) {
    const match = lastWall(schedule.cron, wall);
    if (match === undefined) return undefined;
    const due = dueOfWall(schedule.zone, match);
    if (due.at <= until) return due;
    wall = match - 1;
  }
}

function nextByClock(schedule: { cron: CronExpression; zone: string }, after: number): Due | undefined {
  const { zone, cron } = schedule;
  let from = after;
  for (;;) {
    const { until } = steadyAround(zone, from);
    const wall = wallAt(zone, from);
    const match = nextWall(cron, wall);
    if (match === undefined) return undefined;
    const at = from + (match - wall);
    if (at < until) return { at, ...repeatNote(zone, match, at) };
    const edge = wallAt(zone, until);
    if (nextWall(cron, edge - 1) === edge) return { at: until, ...repeatNote(zone, edge, until) };
    from = until;
  }
}

function previousByClock(schedule: { cron: CronExpression; zone: string }, until: number): Due | undefined {
  const { zone, cron } = schedule;
  let last = until;
  for (;;) {
    const { from } = steadyAround(zone, last);
    const wall = wallAt(zone, last);
    const match = lastWall(cron, wall);
    if (match === undefined) return undefined;
    const at = last + (match - wall);
    if (at >= from && at <= last) return { at, ...repeatNote(zone, match, at) };
    last = from - 1;
  }
}

function repeatNote(zone: string, wall: number, at: number): { note?: string } {
  const found = instantsOf(zone, wall);
  if (found.kind !== 'repeated') return {};
  const pass = at === found.first ? 'first' : 'second';
  return { note: `${showWall(wall)} came twice in ${zone}; this is the ${pass} pass, and both are due.` };
}

function dueOfWall(zone: string, wall: number): Due {
  const found = instantsOf(zone, wall);
  if (found.kind === 'one') return { at: found.at };
  if (found.kind === 'repeated')
    return { at: found.first, note: `${showWall(wall)} came twice in ${zone}; it is due the first time only.` };
  const [gone, back] = [showWall(found.fromWall).slice(11), showWall(found.toWall).slice(11)];
  return {
    at: found.after,
    note: `${showWall(wall)} did not exist in ${zone} (the clock went from ${gone} to ${back}); it is due right after.`,
  };
}
