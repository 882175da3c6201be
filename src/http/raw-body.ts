// Reads a request body as the bytes it is, with a cap that holds while reading. `100 Continue` is sent here, because only
// here it is certain that the body is wanted.

import type { IncomingMessage, ServerResponse } from 'node:http';

export type RawBody =
  | { kind: 'body'; bytes: Buffer }
  | { kind: 'too_large' }
  /** The sender was too slow, or went away. */
  | { kind: 'timed_out' }
  /** Too many bodies are being read at once. */
  | { kind: 'busy' };

export interface BodyReader {
  read(request: IncomingMessage, response: ServerResponse, maxBytes: number): Promise<RawBody>;
}

/** Bodies that are still being read have not proved anything yet: together they may hold this much memory. */
const MAX_READING_BYTES = 64 * 1024 * 1024;

export function createBodyReader(maxReadingBytes: number = MAX_READING_BYTES): BodyReader {
  let readingBytes = 0;
  return {
    read: (request, response, maxBytes) =>
      new Promise((resolve) => {
        const chunks: Buffer[] = [];
        let size = 0;
        const end = (result: RawBody): void => {
          readingBytes -= size;
          request.off('data', onData);
          request.off('end', onEnd);
          request.off('close', onClose);
          resolve(result);
        };
        const onData = (chunk: Buffer): void => {
          size += chunk.length;
          readingBytes += chunk.length;
          if (size > maxBytes) end({ kind: 'too_large' });
          else if (readingBytes > maxReadingBytes) end({ kind: 'busy' });
          else chunks.push(chunk);
        };
        const onEnd = (): void => {
          const [first] = chunks;
          end({ kind: 'body', bytes: chunks.length === 1 && first ? first : Buffer.concat(chunks) });
        };
        const onClose = (): void => end({ kind: 'timed_out' });
        request.on('data', onData);
        request.on('end', onEnd);
        request.on('close', onClose);
        if (/^100-continue$/i.test(request.headers.expect ?? '')) response.writeContinue();
      }),
  };
}

/** What the sender says its body measures; undefined when it does not say. */
export function declaredBytes(request: IncomingMessage): number | undefined {
  const declared = request.headers['content-length'];
  return declared === undefined ? undefined : Number(declared);
}

/** The rest of a short body is read and dropped, so that the connection can go on. */
const WORTH_DROPPING_BYTES = 256 * 1024;
const LINGER_MS = 1000;

/**
 * True when the answer must end the connection, because more of the body may come than is worth reading. Then the sender
 * still gets a moment to read the answer: closing at once while it sends would make its side throw the answer away.
 */
export function endsConnection(request: IncomingMessage): boolean {
  if (request.complete) return false;
  const declared = declaredBytes(request);
  const chunked = request.headers['transfer-encoding'] !== undefined;
  if (!chunked && (declared ?? 0) <= WORTH_DROPPING_BYTES && request.headers.expect === undefined) return false;
  const { socket } = request;
  request.resume();
  // Node calls this when the answer is out.
  socket.destroySoon = () => {
    socket.end();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
  return true;
}
