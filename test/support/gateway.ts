// A whole gateway inside the test process: real settings file, store, HTTP server, agent (the demo model unless told
// otherwise) and deliveries, in a home of its own.

import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { ConfigInput } from '../../src/config/schema.ts';
import type { Run } from '../../src/core/run.ts';
import { type Gateway, startGateway } from '../../src/gateway.ts';
import { listDeliveries } from '../../src/store/deliveries.ts';
import { listEvents, type StoredEvent } from '../../src/store/events.ts';
import { getRun } from '../../src/store/runs.ts';
import { until } from './until.ts';

type Settings = NonNullable<NonNullable<NonNullable<ConfigInput['platforms']>['webhook']>['extra']>;
export type TestRoutes = Settings['routes'];

export const SECRET = 'a-secret-for-tests';

export interface TestGateway extends AsyncDisposable {
  url: string;
  home: string;
  gateway: Gateway;
  /** Log lines so far. */
  logs(): LogLine[];
  /** Sends one request; signed like GitHub with the gateway's secret unless told otherwise. */
  send(route: string, request?: TestRequest): Promise<TestReply>;
  events(route?: string): Promise<StoredEvent[]>;
  /** The run of the newest event of the route, whatever its state. */
  newestRun(route: string): Promise<Run>;
  /** The same, when it has ended. */
  endedRun(route: string): Promise<EndedRun>;
  stop(): Promise<void>;
}

export interface LogLine {
  level: string;
  message: string;
  [field: string]: unknown;
}

export interface TestRequest {
  body?: unknown;
  /** Sent as it is. */
  raw?: string | Buffer;
  headers?: Record<string, string>;
  event?: string;
  id?: string;
  /** False sends no signature at all. */
  secret?: string | false;
  method?: string;
}

export interface TestReply {
  status: number;
  headers: Headers;
  json: Record<string, unknown>;
}

export type EndedRun = NonNullable<Awaited<ReturnType<typeof readRun>>>;

export async function startTestGateway(
  options: { routes?: TestRoutes; extra?: Settings; config?: ConfigInput; home?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<TestGateway> {
  const home = options.home ?? mkdtempSync(join(tmpdir(), 'svc-gateway-'));
  const extra = { host: '127.0.0.1', port: 0, secret: SECRET, routes: options.routes ?? {}, ...options.extra };
  const config = {
    ...options.config,
    platforms: { ...options.config?.platforms, webhook: { enabled: true, extra } },
  };
  writeFileSync(join(home, 'config.yaml'), stringify(config), { mode: 0o600 });
  const lines: LogLine[] = [];
  const gateway = await startGateway({
    env: { HOME: home, PATH: process.env.PATH, ...options.env },
    home,
    version: '0.0.0-test',
    terminal: { write: (line) => void lines.push(JSON.parse(line)) },
    onFatal: (error) => {
      throw error;
    },
  });
  const store = await gateway.app.store();
  const events = (route?: string) =>
    store.read(listEvents({ limit: 10_000, ...(route === undefined ? {} : { route }) }));
  const stop = () => gateway.stop(5000);
  return {
    url: gateway.url,
    home,
    gateway,
    logs: () => lines,
    send: (route, request) => sendTo(`${gateway.url}/webhooks/${route}`, request),
    events,
    newestRun: async (route) => {
      const [event] = await events(route);
      const run = await store.read(getRun({ id: event?.runId ?? '' }));
      if (run === undefined) throw new Error(`The newest event of ${route} has no run.`);
      return run;
    },
    endedRun: (route) =>
      until(async () => {
        const [event] = await events(route);
        return event?.runId === undefined ? undefined : readRun(gateway, event.runId);
      }),
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      if (options.home === undefined) rmSync(home, { recursive: true, force: true });
    },
  };
}

export const hexHmac = (secret: string, body: string | Buffer): string =>
  createHmac('sha256', secret).update(body).digest('hex');

export async function sendTo(url: string, request: TestRequest = {}): Promise<TestReply> {
  const method = request.method ?? 'POST';
  const body = request.raw ?? JSON.stringify('body' in request ? request.body : {});
  const signature =
    request.secret === false ? {} : { 'x-hub-signature-256': `sha256=${hexHmac(request.secret ?? SECRET, body)}` };
  const response = await fetch(url, {
    method,
    headers: {
      'content-type': 'application/json',
      ...signature,
      ...(request.event === undefined ? {} : { 'x-github-event': request.event }),
      ...(request.id === undefined ? {} : { 'x-github-delivery': request.id }),
      ...request.headers,
    },
    ...(method === 'GET' || method === 'HEAD' ? {} : { body: typeof body === 'string' ? body : new Uint8Array(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, json: text === '' ? {} : JSON.parse(text) };
}

async function readRun({ app }: Gateway, id: string) {
  const store = await app.store();
  const run = await store.read(getRun({ id }));
  if (run === undefined || run.endedAt === undefined) return undefined;
  const { deliveries } = await store.read(listDeliveries({ runId: id, limit: 20 }));
  return { ...run, deliveries };
}
