// Servers that call themselves compatible differ in small ways. This makes one well-formed event stream out of what
// they send: text in, text out. It never invents content; it only reports an answer that was cut off.

import { jsonOrUndefined, mendChunk, wholeAsChunk } from './mend-chunk.ts';
import { WireFault } from './wire-fault.ts';

// No sane event comes near; without a limit one broken line would fill the memory.
const MAX_LINE_CHARS = 8 * 1024 * 1024;
const MAX_ANSWER_CHARS = 64 * 1024 * 1024;

/** Yields well-formed events, as many at once as arrived at once. `onData` hears of every event that carried data. */
export async function* mendStream(body: AsyncIterable<Uint8Array>, onData: () => void): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const events = createEventReader(onData);
  for await (const bytes of body) {
    const out = events.push(decoder.decode(bytes, { stream: true }));
    if (out !== '') yield out;
  }
  if (decoder.decode() !== '') throw new WireFault('cut', 'The stream ended in the middle of a character.');
  yield events.end();
}

interface EventReader {
  push(text: string): string;
  end(): string;
}

function createEventReader(onData: () => void): EventReader {
  let pending = '';
  // Data lines that are no JSON by themselves: a value spread over several lines, or noise.
  let partial = '';
  let total = 0;
  let sawData = false;
  let sawFinish = false;
  let sawDone = false;
  let sawCalls = false;

  const readValue = (value: unknown): string => {
    const mended = mendChunk(value);
    if (mended === undefined) return '';
    sawData = true;
    sawFinish ||= mended.finished;
    sawCalls ||= mended.hasCalls;
    onData();
    return mended.json;
  };

  const readLine = (line: string): string => {
    const text = line.endsWith('\r') ? line.slice(0, -1) : line;
    if (text === '') {
      partial = '';
      return '';
    }
    // A bare object is a server that streams lines of JSON.
    const data = text.startsWith('data:') ? text.slice(5).trimStart() : text.startsWith('{') ? text : '';
    if (data === '') return '';
    if (data === '[DONE]') {
      sawDone = true;
      return '';
    }
    const value = jsonOrUndefined(data) ?? (partial === '' ? undefined : jsonOrUndefined(`${partial}\n${data}`));
    if (value === undefined) {
      partial = partial === '' ? data : `${partial}\n${data}`;
      return '';
    }
    partial = '';
    const json = readValue(value);
    return json === '' ? '' : `data: ${json}\n\n`;
  };

  return {
    push(text) {
      total += text.length;
      if (total > MAX_ANSWER_CHARS) throw new WireFault('answer_too_long', 'The answer does not end.');
      let from = 0;
      let out = '';
      for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
        out += readLine(pending + text.slice(from, at));
        pending = '';
        from = at + 1;
      }
      pending += text.slice(from);
      if (pending.length > MAX_LINE_CHARS) {
        throw new WireFault('line_too_long', `A line of the answer is longer than ${MAX_LINE_CHARS / 1024 / 1024} MB.`);
      }
      return out;
    },
    end() {
      const whole = pending.trim() === '' ? '' : readLine(pending);
      if (partial !== '' && !sawDone && !sawFinish) {
        throw new WireFault('cut', 'The stream ended in the middle of an event.');
      }
      if (!sawData) throw new WireFault('empty', 'The server ended the stream without an answer.');
      // Some servers never say why they stopped; the stream ended in order, so the answer is whole.
      return sawFinish ? whole : whole + finishEvent(sawCalls);
    },
  };
}

/** An answer in one piece, from a server that was asked to stream, as events. */
export function wholeAsEvents(text: string): string {
  const value = jsonOrUndefined(text.trim());
  const chunk = value === undefined ? undefined : wholeAsChunk(value);
  if (chunk === undefined)
    throw new WireFault('not_an_api', `The server answered with something else: ${excerpt(text)}`);
  return `data: ${chunk}\n\n`;
}

/** The beginning of a text on one line, for messages. */
export const excerpt = (text: string): string => JSON.stringify(text.trim().replace(/\s+/g, ' ').slice(0, 120));

function finishEvent(sawCalls: boolean): string {
  const choice = { index: 0, delta: {}, finish_reason: sawCalls ? 'tool_calls' : 'stop' };
  return `data: ${JSON.stringify({ choices: [choice] })}\n\n`;
}
