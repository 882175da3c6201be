// Time zones as arithmetic: the offset at an instant, and the instants of a wall-clock time. A wall time is written as the
// epoch milliseconds it would have in UTC. Offsets come from the runtime's own zone data, a month at a time, and are kept.

import { nearest } from '../core/nearest.ts';

const DAY_MS = 86_400_000;
const CHUNK_MS = 32 * DAY_MS;
/** Months kept per zone; a yearly search touches a hundred of them. */
const MAX_CHUNKS = 2_000;
const MAX_ZONES = 100;

/** A stretch of time with one offset. Neighbours may have the same offset. */
interface Piece {
  from: number;
  until: number;
  offsetMs: number;
}

interface ZoneData {
  format: Intl.DateTimeFormat;
  chunks: Map<number, Piece[]>;
}

const zones = new Map<string, ZoneData>();

export function isZone(name: string): boolean {
  if (name.length > 64) return false;
  try {
    zoneData(name);
    return true;
  } catch {
    return false;
  }
}

/** Names that a person may have meant by a zone that does not exist. */
export function zonesLike(name: string): string[] {
  const written = name.slice(0, 64);
  const known = Intl.supportedValuesOf('timeZone');
  const meant = nearest(written, known);
  if (meant !== undefined) return [meant];
  const city = written.toLowerCase().replace(/[\s-]+/g, '_');
  return city.length < 3 ? [] : known.filter((zone) => zone.toLowerCase().endsWith(`/${city}`)).slice(0, 3);
}

export const hostZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;

export const offsetAt = (zone: string, instant: number): number => pieceAt(zone, instant).offsetMs;

export const wallAt = (zone: string, instant: number): number => instant + offsetAt(zone, instant);

/** A stretch [from, until) around the instant in which the offset does not change. */
export function steadyAround(zone: string, instant: number): { from: number; until: number } {
  return pieceAt(zone, instant);
}

export type WallInstants =
  | { kind: 'one'; at: number }
  /** The clock shows this time twice. */
  | { kind: 'repeated'; first: number; second: number }
  /** The clock never shows it: it jumps from `fromWall` to `toWall` at the instant `after`. */
  | { kind: 'gap'; after: number; fromWall: number; toWall: number };

export function instantsOf(zone: string, wall: number): WallInstants {
  // No zone is further than a day from UTC, and none changes twice in two days.
  const before = offsetAt(zone, wall - DAY_MS);
  const after = offsetAt(zone, wall + DAY_MS);
  if (before === after) return { kind: 'one', at: wall - before };
  const fits = [before, after].map((offset) => wall - offset).filter((at) => at + offsetAt(zone, at) === wall);
  const first = Math.min(...fits);
  const second = Math.max(...fits);
  if (fits.length === 2) return { kind: 'repeated', first, second };
  if (fits.length === 1) return { kind: 'one', at: first };
  const change = changeBetween(zone, wall - DAY_MS, wall + DAY_MS);
  return { kind: 'gap', after: change, fromWall: change + before, toWall: change + after };
}

/** `2026-03-29 03:00 GMT+2`, for people. */
export function showInstant(zone: string, instant: number): string {
  const offset = offsetAt(zone, instant);
  const minutes = Math.abs(offset) / 60_000;
  const rest = minutes % 60 === 0 ? '' : `:${String(Math.floor(minutes % 60)).padStart(2, '0')}`;
  const name = offset === 0 ? 'UTC' : `UTC${offset < 0 ? '-' : '+'}${Math.floor(minutes / 60)}${rest}`;
  return `${showWall(instant + offset)} ${name}`;
}

/** `2026-03-29 03:00`, with seconds only when there are some. */
export function showWall(wall: number): string {
  const text = new Date(wall).toISOString().replace('T', ' ');
  return wall % 60_000 === 0 ? text.slice(0, 16) : text.slice(0, 19);
}

function pieceAt(zone: string, instant: number): Piece {
  const data = zoneData(zone);
  const index = Math.floor(instant / CHUNK_MS);
  let pieces = data.chunks.get(index);
  if (pieces === undefined) {
    if (data.chunks.size >= MAX_CHUNKS) data.chunks.clear();
    pieces = readChunk(data.format, index * CHUNK_MS);
    data.chunks.set(index, pieces);
  }
  const piece = pieces.find((candidate) => instant < candidate.until);
  if (piece === undefined) throw new RangeError(`No zone data at ${instant}.`);
  return piece;
}

function changeBetween(zone: string, from: number, until: number): number {
  let at = from;
  while (at < until) {
    const next = steadyAround(zone, at).until;
    if (offsetAt(zone, next) !== offsetAt(zone, at)) return next;
    at = next;
  }
  throw new RangeError(`No clock change in ${zone} between ${from} and ${until}.`);
}

function zoneData(zone: string): ZoneData {
  const known = zones.get(zone);
  if (known) return known;
  // Making a format costs as much as twenty conversions, so it is kept; the bound is for callers that name many zones.
  if (zones.size >= MAX_ZONES) zones.clear();
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  const data: ZoneData = { format, chunks: new Map() };
  zones.set(zone, data);
  return data;
}

function readChunk(format: Intl.DateTimeFormat, start: number): Piece[] {
  const pieces: Piece[] = [];
  const end = start + CHUNK_MS;
  let from = start;
  let offset = readOffset(format, start);
  for (let day = start; day < end; day += DAY_MS) {
    const next = readOffset(format, day + DAY_MS);
    if (next === offset) continue;
    const change = firstWith(format, next, day, day + DAY_MS);
    if (change >= end) break;
    pieces.push({ from, until: change, offsetMs: offset });
    from = change;
    offset = next;
  }
  pieces.push({ from, until: end, offsetMs: offset });
  return pieces;
}

/** The first whole second after `low` that has the offset; `low` does not have it, `high` does. */
function firstWith(format: Intl.DateTimeFormat, offset: number, low: number, high: number): number {
  let [without, withIt] = [low, high];
  while (withIt - without > 1000) {
    const middle = Math.floor((without + withIt) / 2000) * 1000;
    if (readOffset(format, middle) === offset) withIt = middle;
    else without = middle;
  }
  return withIt;
}

function readOffset(format: Intl.DateTimeFormat, instant: number): number {
  const match = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(format.format(instant));
  if (!match) throw new RangeError(`Unreadable offset at ${instant}.`);
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = match;
  const ms = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  return sign === '-' ? -ms : ms;
}
