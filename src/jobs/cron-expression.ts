// Five-field cron expressions: strict reading with the field named in every refusal, and matching in wall-clock time.
// It knows no zones: clock changes are the business of schedule.ts.

export interface CronExpression {
  /** Normal spelling: macros written out, single spaces, upper case. */
  text: string;
  /** The hour field starts with `*`: the job follows the clock through changes instead of being tied to a time of day. */
  everyHour: boolean;
  fields: CronFields;
}

interface CronFields {
  minutes: readonly number[];
  hours: readonly number[];
  days: ReadonlySet<number>;
  months: ReadonlySet<number>;
  weekdays: ReadonlySet<number>;
  /** Day of month and day of week are both restricted: either is enough, as in every cron. */
  eitherDay: boolean;
}

const MACROS: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
};

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

interface FieldRule {
  name: string;
  min: number;
  max: number;
  names?: readonly string[];
}

const FIELDS: readonly [FieldRule, FieldRule, FieldRule, FieldRule, FieldRule] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, names: MONTHS },
  { name: 'day of week', min: 0, max: 7, names: WEEKDAYS },
];

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const MINUTES_PER_DAY = 1440;
/** 29 February can be eight years away (around 2100); on a given weekday, forty. */
const SEARCH_MS = 41 * 366 * DAY_MS;

export type CronReading = { kind: 'cron'; cron: CronExpression } | { kind: 'invalid'; reason: string };

export function readCron(source: string): CronReading {
  const spelled = source.trim().toUpperCase();
  if (spelled.startsWith('@')) {
    const macro = MACROS[spelled.toLowerCase()];
    if (macro === undefined)
      return {
        kind: 'invalid',
        reason: `\`${source.trim()}\` is not known; there are ${Object.keys(MACROS).join(', ')}.`,
      };
    return readCron(macro);
  }
  const parts = spelled.split(/\s+/);
  if (parts.length !== 5)
    return {
      kind: 'invalid',
      reason: `A cron expression has five fields (minute, hour, day of month, month, day of week); this has ${parts.length}.`,
    };
  const sets: ReadonlySet<number>[] = [];
  for (const [index, rule] of FIELDS.entries()) {
    const read = readField(parts[index] ?? '', rule);
    if (typeof read === 'string') return { kind: 'invalid', reason: read };
    sets.push(read);
  }
  const [minutes, hours, days, months, weekdays] = sets;
  if (!minutes || !hours || !days || !months || !weekdays) throw new RangeError('A cron field was not read.');
  const fields: CronFields = {
    minutes: [...minutes].sort((a, b) => a - b),
    hours: [...hours].sort((a, b) => a - b),
    days,
    months,
    weekdays: new Set([...weekdays].map((day) => day % 7)),
    eitherDay: parts[2] !== '*' && parts[4] !== '*',
  };
  return { kind: 'cron', cron: { text: parts.join(' '), everyHour: parts[1]?.startsWith('*') ?? false, fields } };
}

/** The first match after the wall time, or undefined when no date ever matches. */
export function nextWall(cron: CronExpression, wall: number): number | undefined {
  const { hours, minutes } = cron.fields;
  const first = dayOf(wall);
  const minuteOfDay = Math.floor((wall - first) / MINUTE_MS);
  for (let day = first; day <= first + SEARCH_MS; day += DAY_MS) {
    if (!dayMatches(cron.fields, day)) continue;
    const after = day === first ? minuteOfDay : -1;
    const hour = hours.find((candidate) => candidate * 60 + (minutes.at(-1) ?? 0) > after);
    const minute = minutes.find((candidate) => (hour ?? 0) * 60 + candidate > after);
    if (hour !== undefined && minute !== undefined) return day + (hour * 60 + minute) * MINUTE_MS;
  }
  return undefined;
}

/** The last match at or before the wall time. */
export function lastWall(cron: CronExpression, wall: number): number | undefined {
  const { hours, minutes } = cron.fields;
  const last = dayOf(wall);
  const minuteOfDay = Math.floor((wall - last) / MINUTE_MS);
  for (let day = last; day >= last - SEARCH_MS; day -= DAY_MS) {
    if (!dayMatches(cron.fields, day)) continue;
    const until = day === last ? minuteOfDay : MINUTES_PER_DAY;
    const hour = hours.findLast((candidate) => candidate * 60 + (minutes[0] ?? 0) <= until);
    const minute = minutes.findLast((candidate) => (hour ?? 0) * 60 + candidate <= until);
    if (hour !== undefined && minute !== undefined) return day + (hour * 60 + minute) * MINUTE_MS;
  }
  return undefined;
}

/** How many matches lie in [from, until). Counted by days, not by matches: downtime may have swallowed thousands. */
export function countWalls(cron: CronExpression, from: number, until: number): number {
  const { minutes, hours } = cron.fields;
  let count = 0;
  for (let day = dayOf(from); day < until; day += DAY_MS) {
    if (!dayMatches(cron.fields, day)) continue;
    if (day >= from && day + DAY_MS <= until) {
      count += minutes.length * hours.length;
      continue;
    }
    for (const hour of hours)
      for (const minute of minutes) {
        const at = day + (hour * 60 + minute) * MINUTE_MS;
        if (at >= from && at < until) count += 1;
      }
  }
  return count;
}

function dayMatches(fields: CronFields, day: number): boolean {
  const date = new Date(day);
  if (!fields.months.has(date.getUTCMonth() + 1)) return false;
  const byDate = fields.days.has(date.getUTCDate());
  const byWeekday = fields.weekdays.has(date.getUTCDay());
  return fields.eitherDay ? byDate || byWeekday : byDate && byWeekday;
}

const dayOf = (wall: number): number => Math.floor(wall / DAY_MS) * DAY_MS;

/** The values of one field, or the reason why it cannot be read. */
function readField(text: string, rule: FieldRule): Set<number> | string {
  const values = new Set<number>();
  for (const item of text.split(',')) {
    const match = /^(?:(\*)|([0-9A-Z]+)(?:-([0-9A-Z]+))?)(?:\/([0-9]+))?$/.exec(item);
    if (!match) return `The ${rule.name} field has ${quote(item)}, which is not a number, a name, a range or a step.`;
    const [, star, lowText, highText, stepText] = match;
    const low = star ? rule.min : readValue(lowText ?? '', rule);
    const high = star ? rule.max : highText === undefined ? low : readValue(highText, rule);
    if (low === undefined || high === undefined)
      return `The ${rule.name} field has ${quote(item)}; allowed are ${allowed(rule)}.`;
    if (low > high)
      return `The ${rule.name} range ${quote(item)} runs backwards; write it as a list, e.g. \`22,23,0,1\`.`;
    const step = stepText === undefined ? 1 : Number(stepText);
    if (stepText !== undefined && !star && highText === undefined)
      return `The ${rule.name} step ${quote(item)} needs a range in front, e.g. \`*/${stepText}\` or \`${lowText}-${rule.max}/${stepText}\`.`;
    if (step < 1 || step > rule.max)
      return `The ${rule.name} step in ${quote(item)} must be between 1 and ${rule.max}.`;
    for (let value = low; value <= high; value += step) values.add(value);
  }
  return values;
}

function readValue(text: string, rule: FieldRule): number | undefined {
  const named = rule.names?.indexOf(text) ?? -1;
  if (named >= 0) return named + (rule.min === 1 ? 1 : 0);
  if (!/^[0-9]{1,2}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= rule.min && value <= rule.max ? value : undefined;
}

const allowed = (rule: FieldRule): string =>
  `${rule.min}-${rule.max}${rule.names ? ` and ${rule.names[0]}-${rule.names.at(-1)}` : ''}`;

const quote = (text: string): string => `\`${text.length > 40 ? `${text.slice(0, 40)}…` : text}\``;
