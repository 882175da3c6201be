// Cuts Markdown into parts that fit a platform: at line ends, else at spaces, never inside a character. A code fence that
// is cut is closed and opened again, so that every part reads right by itself. Pure and stable: a retry cuts the same way.

import type { TextLimit, TextUnit } from './target.ts';

export function countText(text: string, unit: TextUnit): number {
  if (unit === 'utf16') return text.length;
  if (unit === 'bytes') return Buffer.byteLength(text);
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/**
 * `measured` gives the texts that must fit for a piece of Markdown: its rendered forms are longer than itself.
 * Returns at least one part. The limit must leave room for a fence and a few characters.
 */
export function splitMarkdown(markdown: string, limit: TextLimit, measured: (part: string) => string[]): string[] {
  const fits = (part: string): boolean => measured(part).every((text) => countText(text, limit.unit) <= limit.count);
  if (fits(markdown)) return [markdown];
  const parts: string[] = [];
  let rest = markdown;
  let reopened = '';
  while (rest !== '') {
    const piece = takePiece(rest, reopened, limit, fits);
    parts.push(piece.part);
    rest = piece.rest;
    reopened = piece.reopened;
  }
  return parts.filter((part, index) => part.trim() !== '' || (parts.length === 1 && index === 0));
}

interface Piece {
  part: string;
  rest: string;
  /** The fence line that the next part starts with, or nothing. */
  reopened: string;
}

function takePiece(rest: string, reopened: string, limit: TextLimit, fits: (part: string) => boolean): Piece {
  let budget = Math.min(rest.length, limit.unit === 'code_points' ? limit.count * 2 : limit.count);
  for (;;) {
    const cut = budget >= rest.length ? rest.length : cutAt(rest, budget);
    const piece = pieceOf(rest, cut, reopened);
    if (fits(piece.part) || cut <= 1) return piece;
    // Shrinking by a tenth finds a fit in few renderings, however much the markup adds.
    budget = Math.max(1, Math.min(cut - 1, Math.floor(cut * 0.9)));
  }
}

function pieceOf(rest: string, cut: number, reopened: string): Piece {
  const taken = rest.slice(0, cut);
  const after = rest.slice(cut).replace(/^\n/, '');
  const open = openFence(reopened + taken);
  const closing = open && after !== '' ? `${taken.endsWith('\n') ? '' : '\n'}${open.marker}` : '';
  return {
    part: `${reopened}${taken}${closing}`,
    rest: after,
    reopened: open && after !== '' ? `${open.marker}${open.info}\n` : '',
  };
}

/** The best place to cut at or before `budget`: a line end, a space, any character. At least one character is taken. */
function cutAt(text: string, budget: number): number {
  const line = text.lastIndexOf('\n', budget);
  if (line > 0) return line;
  const space = text.lastIndexOf(' ', budget - 1);
  // A space near the start would leave a part with hardly anything in it.
  if (space > budget / 2) return space + 1;
  const low = text.charCodeAt(budget);
  const insidePair = low >= 0xdc00 && low <= 0xdfff;
  if (!insidePair) return budget;
  return budget > 1 ? budget - 1 : 2;
}

interface Fence {
  marker: string;
  info: string;
}

const LONGEST_INFO = 32;

/** The fence that is open at the end of the text. */
function openFence(text: string): Fence | undefined {
  let open: Fence | undefined;
  for (const line of text.split('\n')) {
    const [, marker, info = ''] = /^\s*(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (!marker) continue;
    if (!open) {
      // Backticks in the info string make it inline code.
      if (marker.startsWith('~') || !info.includes('`')) open = { marker, info: info.slice(0, LONGEST_INFO).trimEnd() };
    } else if (marker[0] === open.marker[0] && marker.length >= open.marker.length && info.trim() === '') {
      open = undefined;
    }
  }
  return open;
}
