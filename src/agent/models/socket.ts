// One POST over undici with the socket clock set for this call and no redirects: a key must not travel.

import type { Dispatcher, request as undiciRequest } from 'undici';
import { excerpt } from './chat-stream.ts';
import { RefusedCall, WireFault } from './wire-fault.ts';

export interface Socket {
  request: typeof undiciRequest;
  dispatcher: Dispatcher;
  /** Longest silence of the socket; undefined means for ever. */
  readMs: number | undefined;
}

export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: Dispatcher.ResponseData['body'];
}

const MAX_WHOLE_BYTES = 64 * 1024 * 1024;

/** A good answer. Throws RefusedCall for a status of 400 and more, WireFault for a redirect or a web page. */
export async function post(
  socket: Socket,
  call: { url: string; headers: Record<string, string>; body: string; signal: AbortSignal },
): Promise<Reply> {
  const {
    statusCode: status,
    headers: raw,
    body,
  } = await socket.request(call.url, {
    method: 'POST',
    headers: call.headers,
    body: call.body,
    signal: call.signal,
    dispatcher: socket.dispatcher,
    headersTimeout: socket.readMs ?? 0,
    bodyTimeout: socket.readMs ?? 0,
  });
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(raw)) if (value !== undefined) headers[name] = [value].flat().join(', ');
  if (status >= 400) throw new RefusedCall(status, await readWhole(body), headers);
  if (status >= 300) {
    await body.dump();
    throw new WireFault('not_an_api', `The server redirects to ${headers.location ?? 'another address'}.`);
  }
  if (/text\/html/i.test(headers['content-type'] ?? '')) {
    throw new WireFault('not_an_api', `The server answered with a web page: ${excerpt(await readWhole(body))}`);
  }
  return { status, headers, body };
}

export async function readWhole(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > MAX_WHOLE_BYTES) throw new WireFault('answer_too_long', 'The answer does not end.');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
