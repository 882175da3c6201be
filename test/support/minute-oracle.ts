// A slow, obvious scheduler to compare with: it looks at every minute of some years and asks whether a cron expression is
// due there. It shares no code with src/jobs: own field reading, own zone offsets, no cron library.

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

export interface ZoneMinutes {
  zone: string;
  start: number;
  /** Per minute: what the clock on the wall shows, packed. */
  walls: Int32Array;
  /** Minutes whose clock time was shown before already (the second pass of a repeated hour). */
  repeated: Uint8Array;
  /** Minute index right after a gap, with the clock times that the gap swallowed. */
  gaps: Map<number, number[]>;
  /** Minute indexes at which the offset changes. */
  changes: number[];
}

/** Reads the clock of a zone for every minute in [start, end). */
export function readZoneMinutes(zone: string, start: number, end: number): ZoneMinutes {
  const count = (end - start) / MINUTE_MS;
  const walls = new Int32Array(count);
  const repeated = new Uint8Array(count);
  const gaps = new Map<number, number[]>();
  const changes: number[] = [];
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  const wallOf = (instant: number): number => {
    const part: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(instant)) part[type] = Number(value);
    return Date.UTC(part.year ?? 0, (part.month ?? 1) - 1, part.day, part.hour, part.minute);
  };
  let highest = Number.NEGATIVE_INFINITY;
  let previous = wallOf(start) - MINUTE_MS;
  let following = wallOf(start);
  for (let hour = start; hour < end; hour += HOUR_MS) {
    const first = following;
    following = wallOf(hour + HOUR_MS);
    // Minutes are asked one by one only in the rare hours in which the clock was changed.
    const steady = following - first === HOUR_MS;
    for (let step = 0; step < 60; step += 1) {
      const wall = steady ? first + step * MINUTE_MS : wallOf(hour + step * MINUTE_MS);
      const index = (hour - start) / MINUTE_MS + step;
      // Within an hour only the minute grows, and it stands in the lowest digits.
      walls[index] = steady && step > 0 && wall % HOUR_MS !== 0 ? (walls[index - 1] ?? 0) + 1 : pack(wall);
      if (wall <= highest) repeated[index] = 1;
      if (wall !== previous + MINUTE_MS) changes.push(index);
      if (wall > previous + MINUTE_MS) {
        const swallowed: number[] = [];
        for (let lost = previous + MINUTE_MS; lost < wall; lost += MINUTE_MS) swallowed.push(pack(lost));
        gaps.set(index, swallowed);
      }
      highest = Math.max(highest, wall);
      previous = wall;
    }
  }
  return { zone, start, walls, repeated, gaps, changes };
}

/** Every instant at which the expression is due. */
export function dueMinutes(expression: string, minutes: ZoneMinutes): number[] {
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = expression.split(' ');
  const minuteOk = members(minute, 0, 59);
  const hourOk = members(hour, 0, 23);
  const dayOk = members(day, 1, 31);
  const monthOk = members(month, 1, 12, 'jan feb mar apr may jun jul aug sep oct nov dec');
  const weekdayOk = members(weekday, 0, 7, 'sun mon tue wed thu fri sat');
  weekdayOk[0] ||= weekdayOk[7] ?? 0;
  const eitherDay = day !== '*' && weekday !== '*';
  const matches = (wall: number): boolean => {
    if (!minuteOk[wall & 63] || !hourOk[(wall >> 6) & 31] || !monthOk[(wall >> 16) & 15]) return false;
    const byDay = dayOk[(wall >> 11) & 31] === 1;
    const byWeekday = weekdayOk[(wall >> 20) & 7] === 1;
    return eitherDay ? byDay || byWeekday : byDay && byWeekday;
  };
  const followsClock = hour.startsWith('*');
  const due: number[] = [];
  const { walls, repeated, gaps, start } = minutes;
  for (let index = 0; index < walls.length; index += 1) {
    if (matches(walls[index] ?? 0) && (followsClock || repeated[index] === 0)) due.push(start + index * MINUTE_MS);
  }
  if (followsClock) return due;
  const afterGaps = [...gaps].filter(([, swallowed]) => swallowed.some(matches));
  const made = afterGaps.map(([index]) => start + index * MINUTE_MS);
  return [...new Set([...due, ...made])].sort((a, b) => a - b);
}

function pack(wall: number): number {
  const date = new Date(wall);
  return (
    date.getUTCMinutes() |
    (date.getUTCHours() << 6) |
    (date.getUTCDate() << 11) |
    ((date.getUTCMonth() + 1) << 16) |
    (date.getUTCDay() << 20)
  );
}

function members(field: string, min: number, max: number, names = ''): Uint8Array {
  const number = (text: string): number => {
    const named = names.split(' ').indexOf(text.toLowerCase());
    return named >= 0 && names !== '' ? named + min : Number(text);
  };
  const found = new Uint8Array(64);
  for (const item of field.split(',')) {
    const [range = '', step = '1'] = item.split('/');
    const [low, high] = range === '*' ? [min, max] : range.split('-').map(number);
    for (let value = low ?? 0; value <= (high ?? low ?? 0); value += Number(step)) found[value] = 1;
  }
  return found;
}
