// `svc platforms`: where messages can go, whether each platform is set up and answers, and setting one up.

import type { App } from '../../app.ts';
import type { PlatformConfig } from '../../config/schema.ts';
import { SvcError } from '../../core/errors.ts';
import { spellingsOf } from '../../core/names.ts';
import { findTarget, targets, unknownTarget } from '../../delivery/registry.ts';
import { platformKey, type Target } from '../../delivery/target.ts';
import type { CliContext, CommandModule } from '../command.ts';
import { addExamples, printListing } from '../listing.ts';
import { withApp } from '../with-app.ts';

const CHECK_TIMEOUT_MS = 15_000;

export const platforms: CommandModule = {
  define(command, context) {
    command.description('See where messages can go, check that the platforms answer, set one up.');
    addExamples(command, ['svc platforms list', 'svc platforms check', 'svc platforms setup telegram']);
    const list = command.command('list').description('List all platforms.').option('--json', 'print JSON');
    addExamples(list, ['svc platforms list', 'svc platforms list --json']);
    list.action(({ json }: { json?: true }) => withApp(context, (app) => printPlatforms(app, context, json === true)));
    const check = command
      .command('check')
      .description(
        'Ask platforms whether they know us, with a call that sends nothing. All enabled ones without a name.',
      )
      .argument('[names...]', 'platforms')
      .option('--json', 'print JSON');
    addExamples(check, ['svc platforms check', 'svc platforms check telegram --json']);
    check.action((names: string[], { json }: { json?: true }) =>
      withApp(context, (app) => checkPlatforms(app, context, names, json === true)),
    );
    const setup = command
      .command('setup')
      .description('Ask for what a platform needs and save it: settings in config.yaml, secrets in .env.')
      .argument('<name>', 'the platform');
    addExamples(setup, [
      'svc platforms setup telegram',
      'TELEGRAM_BOT_TOKEN=… svc platforms setup telegram < /dev/null',
    ]);
    setup.action((name: string) =>
      withApp(context, async (app) => {
        const { setUpPlatform } = await import('../platform-setup.ts');
        await setUpPlatform(app, context, targetOf(name), name);
      }),
    );
  },
};

interface Row {
  target: Target;
  platform: PlatformConfig;
  enabled: boolean;
  problem: string | undefined;
}

async function printPlatforms(app: App, context: CliContext, json: boolean): Promise<void> {
  const { config } = await app.config();
  printListing(
    context,
    targets.map((target) => rowOf(target, config.platforms[platformKey(target)])),
    {
      json,
      columns: [
        { title: 'NAME', value: ({ target }) => target.name },
        { title: 'ENABLED', value: ({ enabled }) => (enabled ? 'yes' : 'no') },
        { title: 'HOME CHANNEL', value: ({ platform }) => homeOf(platform) },
        { title: 'ALSO', value: ({ target }) => spellingsOf(target.name).slice(1).join(', ') },
        { title: 'PROBLEM', value: ({ enabled, problem }) => (enabled ? problem : undefined) },
      ],
      toJson: ({ target, platform, enabled, problem }) => ({
        name: target.name,
        title: target.title,
        aliases: spellingsOf(target.name).slice(1),
        enabled,
        home_channel: platform.home_channel ?? null,
        problem: enabled ? (problem ?? null) : null,
      }),
      empty: 'No platforms.',
    },
  );
}

async function checkPlatforms(app: App, context: CliContext, names: string[], json: boolean): Promise<void> {
  const { config, spellings } = await app.config();
  const rows = targets.map((target) => rowOf(target, config.platforms[platformKey(target)]));
  const named = new Map(names.map((name) => [targetOf(name), name]));
  const spelled = (target: Target): string => named.get(target) ?? spellings.get(platformKey(target)) ?? target.name;
  const asked = rows.filter(({ target, platform }) => (names.length > 0 ? named.has(target) : platform.enabled));
  const delivery = await app.delivery();
  const results = await Promise.all(
    asked.map(async ({ target, platform }) => {
      const outcome = await delivery.check(target, AbortSignal.timeout(CHECK_TIMEOUT_MS), spelled(target));
      const connected = outcome.kind === 'sent';
      return { target, platform, connected, detail: connected ? outcome.receipt : outcome.reason };
    }),
  );
  printListing(context, results, {
    json,
    columns: [
      { title: 'NAME', value: ({ target }) => spelled(target) },
      {
        title: 'CONNECTED',
        value: ({ target, connected }) => (!connected ? 'no' : target.hasCheck ? 'yes' : 'cannot be asked'),
      },
      { title: 'HOME CHANNEL', value: ({ platform }) => homeOf(platform) },
      { title: 'DETAIL', value: ({ detail }) => detail },
    ],
    toJson: ({ target, platform, connected, detail }) => ({
      name: spelled(target),
      connected,
      checkable: target.hasCheck,
      home_channel: platform.home_channel ?? null,
      detail: detail ?? null,
    }),
    empty: 'No platform is enabled. Set one up with `svc platforms setup <name>`.',
  });
  const failed = results.filter(({ connected }) => !connected).map(({ target }) => spelled(target));
  if (failed.length > 0) {
    throw new SvcError('delivery_failed', `Not connected: ${failed.join(', ')}.`, {
      help: 'Set it up again with `svc platforms setup <name>`.',
    });
  }
}

function rowOf(target: Target, configured: PlatformConfig | undefined): Row {
  const platform = configured ?? { enabled: false, extra: {} };
  const enabled = target.builtIn === true || platform.enabled;
  return { target, platform, enabled, problem: target.problem(platform, undefined) };
}

function homeOf({ home_channel: home }: PlatformConfig): string | undefined {
  if (home?.chat_id === undefined) return home?.name;
  const id = [home.chat_id, home.thread_id].filter((part) => part !== undefined).join(':');
  return home.name ? `${home.name} (${id})` : id;
}

function targetOf(name: string): Target {
  const target = findTarget(name);
  if (target) return target;
  throw new SvcError('not_found', unknownTarget(name), { help: '`svc platforms list` shows all of them.' });
}
