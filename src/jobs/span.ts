// Lengths of time as people write and read them.

const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `90s`, `30m`, `26h`, `2d`; a bare number means seconds. Undefined when it is none of these. */
export function readSpan(text: string): number | undefined {
  const match = /^([0-9]{1,9})\s*(s|m|h|d)?$/i.exec(text.trim());
  if (!match) return undefined;
  const unit = (match[2]?.toLowerCase() ?? 's') as keyof typeof UNITS;
  return Number(match[1]) * UNITS[unit];
}

/** The shortest exact spelling that `readSpan` reads: `26h`, `90m`, `45s`. */
export function writeSpan(ms: number): string {
  for (const unit of ['d', 'h', 'm'] as const) {
    if (ms >= UNITS[unit] && ms % UNITS[unit] === 0) return `${ms / UNITS[unit]}${unit}`;
  }
  return `${Math.round(ms / 1000)}s`;
}

/** For sentences: `90 s`, `12 min`, `3 h 20 min`, `4 d 2 h`. */
export function showSpan(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  const [large, largeUnit, small, smallUnit] =
    hours < 48 ? [hours, 'h', minutes % 60, 'min'] : [Math.floor(hours / 24), 'd', hours % 24, 'h'];
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}
