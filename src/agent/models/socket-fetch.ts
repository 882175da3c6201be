// The fetch that the SDK gets: undici with the socket clock set per call, no redirects (a key must not travel), and
// answers put in order before the SDK reads them. Everything heavy arrives as an argument.

import type { Dispatcher, request as undiciRequest } from 'undici';
import { jsonOrUndefined, mendWhole } from './mend-chunk.ts';
import { excerpt, mendStream, wholeAsEvents } from './mend-stream.ts';
import { WireFault } from './wire-fault.ts';

export interface SocketCall {
  request: typeof undiciRequest;
  dispatcher: Dispatcher;
  /** Longest silence of the socket; undefined means for ever. */
  readMs: number | undefined;
  streaming: boolean;
  /** Whether answers have the OpenAI shape and may need mending. */
  mend: boolean;
  /** Hears of every event that carried data, when answers are mended. */
  onData(): void;
}

const MAX_WHOLE_BYTES = 64 * 1024 * 1024;
const NO_BODY = new Set([101, 204, 205, 304]);

export function socketFetch(call: SocketCall): typeof fetch {
  return async (input, init) => {
    const reply = await call.request(String(input), {
      method: 'POST',
      headers: plainHeaders(init?.headers),
      body: typeof init?.body === 'string' ? init.body : null,
      signal: init?.signal ?? null,
      dispatcher: call.dispatcher,
      headersTimeout: call.readMs ?? 0,
      bodyTimeout: call.readMs ?? 0,
    });
    const headers = new Headers();
    for (const [name, value] of Object.entries(reply.headers)) {
      if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
    }
    const { statusCode: status, body } = reply;
    if (NO_BODY.has(status)) {
      await body.dump();
      return new Response(null, { status, headers });
    }
    if (status >= 400) return new Response(await readWhole(body), { status, headers });
    if (status >= 300) {
      await body.dump();
      throw new WireFault('not_an_api', `The server redirects to ${headers.get('location') ?? 'another address'}.`);
    }
    const type = headers.get('content-type') ?? '';
    if (/text\/html/i.test(type)) {
      throw new WireFault('not_an_api', `The server answered with a web page: ${excerpt(await readWhole(body))}`);
    }
    if (!call.mend) return new Response(streamOf(bytesOf(body)), { status, headers });
    if (!call.streaming) return new Response(mendedWhole(await readWhole(body)), { status, headers });
    // A server that ignores the wish to stream answers in one piece.
    if (/application\/json/i.test(type)) return new Response(wholeAsEvents(await readWhole(body)), { status, headers });
    return new Response(streamOf(encoded(mendStream(body, call.onData))), { status, headers });
  };
}

function mendedWhole(text: string): string {
  const mended = mendWhole(jsonOrUndefined(text));
  if (mended === undefined)
    throw new WireFault('not_an_api', `The server answered with something else: ${excerpt(text)}`);
  return mended;
}

async function readWhole(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > MAX_WHOLE_BYTES) throw new WireFault('answer_too_long', 'The answer does not end.');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

async function* encoded(events: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const text of events) yield Buffer.from(text);
}

async function* bytesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* body;
}

/** Read only as fast as it is taken; cancelling closes the socket. */
function streamOf(source: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await source.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await source.return(undefined);
    },
  });
}

function plainHeaders(headers: ConstructorParameters<typeof Headers>[0]): Record<string, string> {
  return Object.fromEntries(new Headers(headers).entries());
}
