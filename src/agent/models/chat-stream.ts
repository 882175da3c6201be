// Reads an event stream as servers really send it: with comments, noise, missing empty lines, values over several lines
// or no finish at all. It never invents content; what was cut off is reported as cut off.

import { type Chunk, jsonOrUndefined, readChunk } from './chat-chunk.ts';
import { WireFault } from './wire-fault.ts';

// No sane event comes near; without a limit one broken line would fill the memory.
const MAX_LINE_CHARS = 8 * 1024 * 1024;
const MAX_ANSWER_CHARS = 64 * 1024 * 1024;

export interface ChatStream {
  /** Throws WireFault when the bytes can be no answer. */
  push(bytes: Uint8Array): void;
  /** The stream ended in order. Throws WireFault when the answer did not. */
  end(): void;
}

/** `onChunk` is called at once for every event that carries data. */
export function readChatStream(onChunk: (chunk: Chunk) => void): ChatStream {
  const decoder = new TextDecoder();
  let pending = '';
  // Data lines that are no JSON by themselves: a value spread over several lines, or noise.
  let partial = '';
  let total = 0;
  let sawData = false;
  let ended = false;

  const readLine = (line: string): void => {
    const text = line.endsWith('\r') ? line.slice(0, -1) : line;
    if (text === '') {
      partial = '';
      return;
    }
    // A bare object is a server that streams lines of JSON.
    const data = text.startsWith('data:') ? text.slice(5).trimStart() : text.startsWith('{') ? text : '';
    if (data === '') return;
    if (data === '[DONE]') {
      ended = true;
      return;
    }
    const value = jsonOrUndefined(data) ?? (partial === '' ? undefined : jsonOrUndefined(`${partial}\n${data}`));
    if (value === undefined) {
      partial = partial === '' ? data : `${partial}\n${data}`;
      return;
    }
    partial = '';
    const chunk = readChunk(value);
    if (!chunk) return;
    sawData = true;
    ended ||= chunk.finish !== undefined;
    onChunk(chunk);
  };

  const readText = (text: string): void => {
    total += text.length;
    if (total > MAX_ANSWER_CHARS) throw new WireFault('answer_too_long', 'The answer does not end.');
    let from = 0;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
      readLine(pending + text.slice(from, at));
      pending = '';
      from = at + 1;
    }
    pending += text.slice(from);
    if (pending.length > MAX_LINE_CHARS) {
      throw new WireFault('line_too_long', `A line of the answer is longer than ${MAX_LINE_CHARS / 1024 / 1024} MB.`);
    }
  };

  return {
    push: (bytes) => readText(decoder.decode(bytes, { stream: true })),
    end() {
      const cutInside = decoder.decode() !== '';
      if (cutInside && !ended) throw new WireFault('cut', 'The stream ended in the middle of a character.');
      if (pending.trim() !== '') readLine(pending);
      if (partial !== '' && !ended) throw new WireFault('cut', 'The stream ended in the middle of an event.');
      if (!sawData) throw new WireFault('empty', 'The server ended the stream without an answer.');
    },
  };
}

/** The beginning of a text on one line, for messages. */
export const excerpt = (text: string): string => JSON.stringify(text.trim().replace(/\s+/g, ' ').slice(0, 120));
