// Keeps the beginning and the end of a stream in constant memory, whatever passes through.

import { stripVTControlCharacters } from 'node:util';

export interface BoundedOutput {
  add(chunk: Buffer): void;
  totalBytes(): number;
  droppedBytes(): number;
  /** What was kept, with a line that says how much is missing. Control bytes that would drive a terminal are removed. */
  text(): string;
}

export function createBoundedOutput(maxBytes: number): BoundedOutput {
  const headMax = Math.ceil(maxBytes / 2);
  const tailMax = Math.max(1, maxBytes - headMax);
  const head: Buffer[] = [];
  let headBytes = 0;
  // A ring: the oldest bytes are overwritten in place.
  let tail: Buffer | undefined;
  let tailBytes = 0;
  let total = 0;

  const addToTail = (chunk: Buffer) => {
    tail ??= Buffer.alloc(tailMax);
    const kept = chunk.length > tailMax ? chunk.subarray(chunk.length - tailMax) : chunk;
    const skipped = chunk.length - kept.length;
    let at = (tailBytes + skipped) % tailMax;
    for (let from = 0; from < kept.length; ) {
      const length = Math.min(kept.length - from, tailMax - at);
      kept.copy(tail, at, from, from + length);
      from += length;
      at = (at + length) % tailMax;
    }
    tailBytes += chunk.length;
  };

  const tailContent = (): Buffer => {
    if (!tail) return Buffer.alloc(0);
    if (tailBytes <= tailMax) return tail.subarray(0, tailBytes);
    const start = tailBytes % tailMax;
    return Buffer.concat([tail.subarray(start), tail.subarray(0, start)]);
  };

  const droppedBytes = () => Math.max(0, tailBytes - tailMax);

  return {
    add(chunk) {
      total += chunk.length;
      const forHead = chunk.subarray(0, headMax - headBytes);
      if (forHead.length > 0) {
        head.push(forHead);
        headBytes += forHead.length;
      }
      if (forHead.length < chunk.length) addToTail(chunk.subarray(forHead.length));
    },
    totalBytes: () => total,
    droppedBytes,
    text() {
      const dropped = droppedBytes();
      const whole = Buffer.concat([...head, tailContent()]);
      if (dropped === 0) return decode(whole);
      const first = decode(Buffer.concat(head));
      return `${first}\n[... ${dropped} bytes left out ...]\n${decode(tailContent())}`;
    },
  };
}

// Cut in the middle of a character, a stream ends in replacement marks: those at the edges are dropped.
const decode = (bytes: Buffer): string =>
  stripVTControlCharacters(bytes.toString('utf8').replace(/^\ufffd+|\ufffd+$/g, ''))
    .replace(/\r\n?/g, '\n')
    .replace(/(?![\t\n])\p{Cc}/gu, '');
