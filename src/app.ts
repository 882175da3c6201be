// The composition root of commands and gateway: parts are made when they are first asked for, and their code is loaded
// then, so that a command pays for what it uses. What runs for as long as the gateway does is joined in gateway.ts.

import type { AgentParts } from './agent-parts.ts';
import type { Browsers } from './browser/supervisors.ts';
import type { LoadedConfig } from './config/load.ts';
import { type HomePaths, homePaths, resolveHome } from './config/paths.ts';
import type { SvcError } from './core/errors.ts';
import { type Logger, silentLog } from './core/log.ts';
import type { Clock, NewId } from './core/time.ts';
import type { Delivery } from './delivery/deliver.ts';
import type { JobParts } from './job-parts.ts';
import type { Store } from './store/store.ts';
import { newId, realClock } from './system/clock.ts';
import { ensurePrivateDirectory, homeProblem, readIfExists } from './system/files.ts';

export interface AppOptions {
  env: NodeJS.ProcessEnv;
  /** Defaults to what the environment names. */
  home?: string;
  /** Absent: nothing is logged, as for commands, which report on the screen. */
  log?: Logger;
  /** `threaded` for the gateway; see store/open.ts. */
  storeMode?: 'inline' | 'threaded';
  onStoreFatal?: (error: SvcError) => void;
  /** Settings that were read already. */
  loaded?: LoadedConfig;
}

/** What commands and the gateway are made of. Every method makes its part once and returns the same one again. */
export interface App {
  readonly env: NodeJS.ProcessEnv;
  readonly paths: HomePaths;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly log: Logger;
  /** Throws SvcError `config_invalid` with all problems. */
  config(): Promise<LoadedConfig>;
  /** Checks a text that is to become config.yaml, with another `.env` when one is given. Throws like `config`. */
  checkSettings(text: string, dotEnv?: string): Promise<void>;
  /** Creates the home folder when it is missing. Throws SvcError `home_unusable`. */
  ensureHome(): Promise<void>;
  store(): Promise<Store>;
  /** Sends one message once; what must not get lost goes through the outbox instead. */
  delivery(): Promise<Delivery>;
  /** The browsers of tasks; none is started before a task needs it. */
  browsers(): Promise<Browsers>;
  /** Models, skills, tools and conversations. */
  agent(): Promise<AgentParts>;
  /** Scheduled jobs: making, changing, starting and explaining them. */
  jobs(): Promise<JobParts>;
  /** Closes what was opened. Calling it twice is fine. */
  close(): Promise<void>;
}

export function openApp(options: AppOptions): App {
  const paths = homePaths(options.home ?? resolveHome(options.env));
  const openStore = once(async () => {
    await app.ensureHome();
    const { config } = await app.config();
    const { openStore: open } = await import('./store/open.ts');
    const where = config.database.url === undefined ? { file: paths.database } : { url: config.database.url };
    const fatal = options.onStoreFatal === undefined ? {} : { onFatal: options.onStoreFatal };
    return open(where, { mode: options.storeMode ?? 'inline', ...fatal });
  });
  const openDelivery = once(async () => {
    const { config, environment, secrets } = await app.config();
    const [{ createDelivery }, { createChatTarget }, { logToFile }] = await Promise.all([
      import('./delivery/deliver.ts'),
      import('./chat/chat-target.ts'),
      import('./log-to-file.ts'),
    ]);
    // What a command delivers to the log must stand there as well: its own lines go nowhere.
    const log = options.log?.child({ part: 'delivery' }) ?? logToFile(paths.gatewayLog, secrets);
    return createDelivery({
      platforms: config.platforms,
      allowPrivate: config.delivery.allow_private,
      log,
      now: app.clock.now,
      deliveriesFolder: paths.deliveries,
      env: environment,
      inHouse: [createChatTarget({ store: app.store, now: app.clock.now })],
    });
  });
  const openBrowsers = once(async () => {
    const { config } = await app.config();
    const { Browsers } = await import('./browser/supervisors.ts');
    const log = app.log.child({ part: 'browser' });
    return new Browsers({ config: config.browser, folder: paths.browser, env: options.env, clock: app.clock, log });
  });
  const openAgent = once(async () => {
    const { openAgentParts } = await import('./agent-parts.ts');
    return openAgentParts(app, { outbox: options.storeMode === 'threaded' });
  });
  const openJobs = once(async () => {
    const { openJobParts } = await import('./job-parts.ts');
    return openJobParts(app);
  });
  const app: App = {
    env: options.env,
    paths,
    clock: realClock,
    newId,
    log: options.log ?? silentLog,
    config: once(async () => {
      if (options.loaded !== undefined) return options.loaded;
      const { loadConfig, platformDescriptions } = await loader();
      return loadConfig({ home: paths.home, env: options.env, platforms: platformDescriptions });
    }),
    async checkSettings(text, newDotEnv) {
      const { checkConfig, configInvalid, platformDescriptions } = await loader();
      const dotEnv = newDotEnv ?? (await readIfExists(paths.env));
      const checked = checkConfig(text, dotEnv, {
        home: paths.home,
        env: options.env,
        platforms: platformDescriptions,
      });
      if (checked.kind === 'invalid') throw configInvalid(checked.problems);
    },
    ensureHome: once(async () => {
      try {
        await ensurePrivateDirectory(paths.home);
      } catch (error) {
        throw homeProblem(paths.home, error);
      }
    }),
    store: openStore,
    delivery: openDelivery,
    browsers: openBrowsers,
    agent: openAgent,
    jobs: openJobs,
    async close() {
      const agent = await openAgent.made?.catch(() => undefined);
      await agent?.close();
      const browsers = await openBrowsers.made?.catch(() => undefined);
      await browsers?.stop();
      const delivery = await openDelivery.made?.catch(() => undefined);
      await delivery?.close();
      const store = await openStore.made?.catch(() => undefined);
      await store?.close();
    },
  };
  return app;
}

async function loader() {
  const [load, problem, platforms] = await Promise.all([
    import('./config/load.ts'),
    import('./config/problem.ts'),
    import('./delivery/platforms.ts'),
  ]);
  return { ...load, ...problem, ...platforms };
}

/** Makes the value at the first call. A failure is kept as well: asking again would not mend it. */
function once<T>(make: () => Promise<T>): (() => Promise<T>) & { made?: Promise<T> } {
  const ask: (() => Promise<T>) & { made?: Promise<T> } = () => {
    ask.made ??= make();
    return ask.made;
  };
  return ask;
}
