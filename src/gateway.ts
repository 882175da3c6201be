// The gateway: everything that runs as long as the process does. Parts are started in the order of `startParts` and
// stopped in reverse, so that intake ends first and the store last.

import { rmSync } from 'node:fs';
import { type App, openApp } from './app.ts';
import type { LoadedConfig } from './config/load.ts';
import { type HomePaths, homePaths, resolveHome } from './config/paths.ts';
import { SvcError } from './core/errors.ts';
import type { RunningHttp } from './http/server.ts';
import { openScheduler } from './job-parts.ts';
import type { Outbox } from './outbox/outbox.ts';
import { attemptParts, openOutbox } from './run-parts.ts';
import { startRetention } from './runs/retention.ts';
import { createWorker, type Worker } from './runs/worker.ts';
import { checkReferences } from './settings-check.ts';
import { ensurePrivateDirectory, homeProblem, makePrivate, writeFileAtomic } from './system/files.ts';
import { type InstanceLock, takeInstanceLock } from './system/instance-lock.ts';
import { createJsonLog, type LogSink } from './system/json-log.ts';
import { createLifecycle, type Lifecycle } from './system/lifecycle.ts';
import { rotatingFile } from './system/log-sinks.ts';
import { openWebhooks } from './webhook-parts.ts';
import { countWork } from './work-counts.ts';

const FAILED_START_DEADLINE_MS = 5_000;
const DAY_MS = 24 * 60 * 60 * 1000;

export interface GatewayOptions {
  env: NodeJS.ProcessEnv;
  home?: string;
  version: string;
  /** Gets every log line besides the log file. */
  terminal?: LogSink;
  /** Called once when the gateway cannot go on (a broken disk); the caller stops it and exits with an error. */
  onFatal(error: SvcError): void;
}

export interface Gateway {
  readonly url: string;
  readonly app: App;
  /** Ends intake, lets running work reach a step boundary, closes the store. Never throws; twice is fine. */
  stop(deadlineMs: number): Promise<void>;
}

/** What a running gateway says of itself in gateway.json. */
export interface GatewayState {
  pid: number;
  url: string;
  version: string;
  started_at: string;
}

/** Throws SvcError `gateway_running`, `config_invalid`, `home_unusable`, `store_*` or `port_in_use`; then nothing runs. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const paths = homePaths(options.home ?? resolveHome(options.env));
  await prepareHome(paths);
  const lock = takeInstanceLock(paths.gatewayLock);
  if (lock === undefined) {
    throw new SvcError('gateway_running', `A gateway is already running for ${paths.home}.`, {
      help: 'See it with `svc gateway status`, replace it with `svc gateway restart`, or use another SVC_HOME.',
    });
  }
  try {
    return await startLocked(options, paths, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function startLocked(options: GatewayOptions, paths: HomePaths, lock: InstanceLock): Promise<Gateway> {
  const loaded = await openApp({ env: options.env, home: paths.home }).config();
  const { file, log } = openLog(loaded, paths, options.terminal);
  const lifecycle = createLifecycle(log);
  const app = openApp({
    env: options.env,
    home: paths.home,
    log,
    loaded,
    storeMode: 'threaded',
    onStoreFatal: options.onFatal,
  });
  log.info('The gateway is starting', { version: options.version, pid: process.pid, home: paths.home });
  let url: string;
  try {
    ({ url } = await startParts(app, lifecycle, options.version));
    announce(paths, { pid: process.pid, url, version: options.version, started_at: isoTime(app.clock.now()) });
  } catch (error) {
    await lifecycle.stop(FAILED_START_DEADLINE_MS);
    file.close();
    throw error;
  }
  log.info('The gateway is ready', { url });

  let stopped: Promise<void> | undefined;
  const stop = async (deadlineMs: number): Promise<void> => {
    log.info('The gateway is stopping');
    await lifecycle.stop(deadlineMs);
    log.info('The gateway has stopped');
    file.close();
    rmSync(paths.gatewayState, { force: true });
    lock.release();
  };
  return {
    url,
    app,
    stop(deadlineMs) {
      stopped ??= stop(deadlineMs);
      return stopped;
    },
  };
}

/** The order of the house. Each room adds its part here: what it needs comes before it, what feeds it after it. */
async function startParts(app: App, lifecycle: Lifecycle, version: string): Promise<RunningHttp> {
  const { config } = await app.config();
  const { webhook } = config.platforms;
  await lifecycle.start('store', async () => {
    await app.store();
    return { stop: () => app.close() };
  });
  for (const { key, message } of await checkReferences(app))
    app.log.warn('A setting leads nowhere yet', { key, message });
  const outbox = await lifecycle.start('outbox', () => openOutbox(app));
  await lifecycle.start('old runs', () => openRetention(app));
  const worker = await lifecycle.start('runs', () => openWorker(app, outbox));
  const scheduler = await lifecycle.start('jobs', () =>
    openScheduler(app, { runs: worker.wake, messages: outbox.wake }),
  );
  const webhooks = webhook.enabled
    ? await lifecycle.start('webhooks', () => openWebhooks(app, { runs: worker.wake }))
    : undefined;

  const { startHttpServer } = await import('./http/server.ts');
  const http = await lifecycle.start('http', () =>
    startHttpServer({
      // Without webhooks there is only /health and /metrics, and nobody else's business.
      host: webhook.enabled ? webhook.extra.host : '127.0.0.1',
      port: webhook.extra.port,
      log: app.log.child({ part: 'http' }),
      metrics: { version, counts: async () => countWork(await app.store()) },
      routes: webhooks === undefined ? [] : [webhooks.addRoutes],
    }),
  );
  // Only now: a gateway that cannot have its port or its routes must not have begun anybody's work.
  worker.start();
  scheduler.start();
  return http;
}

async function openRetention(app: App): Promise<{ stop(): Promise<void> }> {
  const { config } = await app.config();
  const log = app.log.child({ part: 'runs' });
  return startRetention({ store: await app.store(), clock: app.clock, log, keepMs: config.runs.keep_days * DAY_MS });
}

async function openWorker(app: App, outbox: Outbox): Promise<Worker> {
  const { config } = await app.config();
  const { sweepFolders } = await app.agent();
  const worker = createWorker({
    ...(await attemptParts(app, outbox.wake)),
    concurrency: config.runs.concurrency,
  });
  await sweepFolders();
  return worker;
}

function announce(paths: HomePaths, state: GatewayState): void {
  try {
    writeFileAtomic(paths.gatewayState, `${JSON.stringify(state)}\n`);
  } catch (error) {
    throw homeProblem(paths.gatewayState, error);
  }
}

const isoTime = (at: number): string => new Date(at).toISOString();

async function prepareHome(paths: HomePaths): Promise<void> {
  try {
    for (const folder of [paths.home, paths.logs]) await ensurePrivateDirectory(folder);
    // Written by hand with an editor, these begin their life readable for everyone.
    for (const file of [paths.config, paths.env, paths.subscriptions]) await makePrivate(file);
  } catch (error) {
    throw homeProblem(paths.home, error);
  }
}

function openLog({ config, secrets }: LoadedConfig, paths: HomePaths, terminal: LogSink | undefined) {
  const { level, max_megabytes, keep_files } = config.log;
  const file = rotatingFile(paths.gatewayLog, { maxBytes: max_megabytes * 1024 * 1024, keepFiles: keep_files });
  const sinks = terminal === undefined ? [file] : [file, terminal];
  return { file, log: createJsonLog({ level, secrets, sinks }) };
}
