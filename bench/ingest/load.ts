// The senders, in a process of their own: keep-alive connections that post signed events with unique ids, and strangers
// that hold connections without asking for anything.

import { createHmac, randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';

export interface LoadOrder {
  kind: 'load';
  url: string;
  secret: string;
  connections: number;
  /** Stops at whichever comes first. */
  durationMs: number;
  requests?: number;
}

export interface StrangerOrder {
  kind: 'strangers';
  url: string;
  count: number;
  /** `slow` ones send one byte of a head each second. */
  manner: 'idle' | 'slow';
}

export interface LoadReport {
  requests: number;
  failures: number;
  ms: number;
  latenciesMs: number[];
}

const BODY_BYTES = 2048;
const ID_DIGITS = 12;
const BRACE = 0x7d;

function examplePayload(): string {
  const commit = {
    id: 'a'.repeat(40),
    message: 'Read the last line as well',
    author: { name: 'Mara', email: 'm@example.com' },
  };
  const payload = {
    action: 'opened',
    number: 7,
    repository: { id: 1, full_name: 'tools/reader', owner: { login: 'tools', id: 2 } },
    commits: Array.from({ length: 8 }, (_, index) => ({
      ...commit,
      added: [`src/${index}.ts`],
      removed: [],
      modified: [],
    })),
    padding: '',
  };
  payload.padding = 'x'.repeat(BODY_BYTES - JSON.stringify(payload).length);
  return JSON.stringify(payload);
}

async function load(order: LoadOrder): Promise<LoadReport> {
  const body = examplePayload();
  const signature = createHmac('sha256', order.secret).update(body).digest('hex');
  const { hostname, port } = new URL(order.url);
  const run = randomUUID();
  const head =
    `POST /webhooks/bench HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\nX-GitHub-Event: push\r\nX-Hub-Signature-256: sha256=${signature}\r\nX-GitHub-Delivery: `;
  const template = Buffer.from(`${head}${run}-${'0'.repeat(ID_DIGITS)}\r\n\r\n${body}`, 'latin1');
  const idAt = head.length;
  const report: LoadReport = { requests: 0, failures: 0, ms: 0, latenciesMs: [] };
  let sent = 0;
  const started = performance.now();
  const client = (): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(Number(port), hostname);
      // One buffer per connection, in which only the id changes: the sender should cost as little as possible.
      const request = Buffer.from(template);
      let sentAt = 0;
      const next = (): void => {
        const over =
          performance.now() - started >= order.durationMs || sent >= (order.requests ?? Number.POSITIVE_INFINITY);
        if (over) {
          socket.destroy();
          resolve();
          return;
        }
        sent++;
        sentAt = performance.now();
        // Spread over the whole range, as the ids of real senders are.
        request.write(((sent * 2_654_435_761) >>> 0).toString(16).padStart(8, '0'), idAt, 'latin1');
        request.write(String(sent).padStart(ID_DIGITS, '0'), idAt + run.length + 1, 'latin1');
        socket.write(request);
      };
      socket.setNoDelay(true);
      socket.on('connect', next);
      socket.on('data', (chunk) => {
        // Answers are short JSON: the one that ends with a brace is complete.
        if (chunk.at(-1) !== BRACE) return;
        report.latenciesMs.push(performance.now() - sentAt);
        report.requests++;
        if (chunk.toString('latin1', 9, 12) !== '200' || !chunk.includes('"accepted"')) report.failures++;
        next();
      });
      socket.on('error', () => {
        report.failures++;
        resolve();
      });
    });
  await Promise.all(Array.from({ length: order.connections }, client));
  report.ms = performance.now() - started;
  return report;
}

const strangers = new Set<Socket>();

async function hold({ url, count, manner }: StrangerOrder): Promise<{ open: number }> {
  const { hostname, port } = new URL(url);
  for (let made = 0; made < count; made += 100) {
    await Promise.all(
      Array.from({ length: Math.min(100, count - made) }, () => stranger(Number(port), hostname, manner)),
    );
  }
  return { open: strangers.size };
}

function stranger(port: number, hostname: string, manner: StrangerOrder['manner']): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, hostname);
    const drip = manner === 'slow' ? setInterval(() => socket.write('x'), 1000) : undefined;
    socket.on('connect', () => {
      strangers.add(socket);
      if (manner === 'slow') socket.write('POST /webhooks/bench HTTP/1.1\r\nHost: ');
      resolve();
    });
    socket.on('error', () => resolve());
    socket.on('close', () => {
      clearInterval(drip);
      strangers.delete(socket);
      resolve();
    });
  });
}

process.on('message', (order: LoadOrder | StrangerOrder | 'release') => {
  if (order === 'release') {
    for (const socket of strangers) socket.destroy();
    process.send?.({ open: 0 });
  } else void (order.kind === 'load' ? load(order) : hold(order)).then((report) => process.send?.(report));
});
process.send?.({ ready: true });
