// Requests byte by byte, for what no well-behaved client would send.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  /** Everything the server said. */
  text: string;
  /** The status of every answer in it, in order. */
  statuses: number[];
  closed: boolean;
}

export async function openSocket(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Writes the bytes and listens until the server closes, or until `enough` answers came, or for a while. */
export async function rawRequest(
  url: string,
  bytes: string | Buffer,
  enough = 1,
  patienceMs = 10_000,
): Promise<RawAnswer> {
  const socket = await openSocket(url);
  const answer: RawAnswer = { text: '', statuses: [], closed: false };
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, patienceMs);
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    socket.on('data', (chunk) => {
      answer.text += chunk.toString('latin1');
      answer.statuses = [...answer.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
      if (answer.statuses.length >= enough && /\r\n\r\n.*\}$/s.test(answer.text)) setTimeout(end, 50);
    });
    socket.on('close', () => {
      answer.closed = true;
      end();
    });
    socket.write(bytes);
  });
  socket.destroy();
  return answer;
}
