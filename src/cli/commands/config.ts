// `svc config`: shows, checks and changes the settings. Secrets are never printed.

import type { Command } from 'commander';
import { homePaths, resolveHome } from '../../config/paths.ts';
import { SvcError } from '../../core/errors.ts';
import { canonicalTarget } from '../../core/names.ts';
import { readIfExists } from '../../system/files.ts';
import type { CliContext, CommandModule } from '../command.ts';
import { addExamples, printJson } from '../listing.ts';
import { readStandardInput } from '../standard-input.ts';

const MASK = '********';

export const config: CommandModule = {
  define(command, context) {
    const paths = homePaths(resolveHome(context.env));
    command.description('Show, check and change the settings in config.yaml.');
    addExamples(command, [
      'svc config set platforms.webhook.enabled true',
      'svc config get platforms.webhook.extra.port',
      'svc config check',
    ]);

    addExamples(command.command('path').description('Print where config.yaml is.'), [
      '$EDITOR "$(svc config path)"',
    ]).action(() => {
      context.stdout.write(`${paths.config}\n`);
    });

    const show = command
      .command('show')
      .description('Print all settings as they are in force, defaults and environment included; secrets are masked.')
      .option('--json', 'print JSON instead of YAML');
    addExamples(show, ['svc config show', 'svc config show --json | jq .model']);
    show.action(async ({ json }: { json?: true }) => {
      const shown = await maskedConfig(context);
      if (json) printJson(context, shown);
      else context.stdout.write((await import('yaml')).stringify(shown));
    });

    const get = command
      .command('get')
      .description('Print one setting as it is in force; secrets are masked.')
      .argument('<key>', 'e.g. model.name')
      .option('--json', 'print JSON');
    addExamples(get, ['svc config get model.name', 'svc config get platforms.webhook.extra.routes --json']);
    get.action((key: string, { json }: { json?: true }) => printSetting(context, key, json === true));

    defineSet(command.command('set'), context);

    addExamples(command.command('check').description('Look for mistakes and list all of them with their lines.'), [
      'svc config check',
    ]).action(async () => {
      const [{ withApp }, { checkReferences }, { problemText }] = await Promise.all([
        import('../with-app.ts'),
        import('../../settings-check.ts'),
        import('../../config/problem.ts'),
      ]);
      const warnings = await withApp(context, checkReferences);
      for (const warning of warnings) context.stderr.write(`Warning:\n${problemText(warning)}\n`);
      context.stdout.write(
        warnings.length === 0
          ? 'The settings are fine.\n'
          : 'The settings can be used, but not all of them work yet.\n',
      );
    });
  },
};

function defineSet(command: Command, context: CliContext): void {
  command
    .description('Change one setting in config.yaml. Nothing is written when the result would not be valid.')
    .argument('<key>', 'e.g. platforms.webhook.extra.port')
    .argument('[value]', 'text, number, true, false, or YAML such as [a, b]; `-` reads it from standard input')
    .option('--unset', 'remove the key, so that its default holds')
    .action((key: string, value: string | undefined, { unset }: { unset?: true }) =>
      changeSetting(context, key, value, unset === true),
    );
  addExamples(command, [
    'svc config set model.name qwen3',
    'svc config set platforms.webhook.extra.secret - < secret.txt',
    "svc config set files.roots '[/srv/notes]'",
    'svc config set --unset timezone',
  ]);
}

async function changeSetting(
  context: CliContext,
  key: string,
  value: string | undefined,
  unset: boolean,
): Promise<void> {
  if (unset === (value !== undefined)) {
    throw new SvcError('usage', 'Give a value, or --unset without one.', { help: 'svc config set --help' });
  }
  const { editConfig, readValue, splitKey } = await import('../../config/edit.ts');
  const path = splitKey(key);
  if (path === undefined) {
    throw new SvcError('usage', `"${key}" is not a key.`, { help: 'Write it with dots, e.g. model.name' });
  }
  const text = value === '-' ? await readStandardInput(context.stdin) : value;
  if (value === '-' && text === '') {
    throw new SvcError('usage', `Standard input is empty, so there is no value for ${key}.`, {
      help: `Pipe it in, or take the key away with \`svc config set --unset ${key}\`.`,
    });
  }
  const { withApp } = await import('../with-app.ts');
  await withApp(context, async (app) => {
    await app.ensureHome();
    const before = (await readIfExists(app.paths.config)) ?? '';
    const after = editConfig(before, path, text === undefined ? undefined : readValue(path, text));
    await app.checkSettings(after);
    const { writeFileAtomic } = await import('../../system/files.ts');
    writeFileAtomic(app.paths.config, after);
    context.stdout.write(`${unset ? 'Removed' : 'Set'} ${key} in ${app.paths.config}\n`);
    context.stderr.write('A running gateway takes it over with `svc gateway restart`.\n');
  });
}

async function printSetting(context: CliContext, key: string, json: boolean): Promise<void> {
  const { splitKey } = await import('../../config/edit.ts');
  const shown = await maskedConfig(context);
  let value: unknown = shown;
  const [group, ...steps] = splitKey(key) ?? [key];
  // The settings in force have the real names; a person may know a platform by the other one.
  const canonical =
    group === 'platforms' ? steps.map((step, depth) => (depth === 0 ? canonicalTarget(step) : step)) : steps;
  for (const step of [group ?? '', ...canonical]) {
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, step) ? Reflect.get(value, step) : undefined;
  }
  if (value === undefined) {
    const known = await isKnownKey(key);
    throw new SvcError('not_found', known ? `${key} is not set.` : `There is no setting ${key}.`, {
      help: known ? `Set it with \`svc config set ${key} <value>\`.` : '`svc config show` prints all of them.',
    });
  }
  if (json) printJson(context, value);
  else if (typeof value === 'object') context.stdout.write((await import('yaml')).stringify(value));
  else context.stdout.write(`${String(value)}\n`);
}

async function isKnownKey(key: string): Promise<boolean> {
  const { splitKey } = await import('../../config/edit.ts');
  const { configJsonSchema, nodeAt } = await import('../../config/schema-walk.ts');
  return nodeAt(configJsonSchema(), splitKey(key) ?? []) !== undefined;
}

async function maskedConfig(context: CliContext): Promise<unknown> {
  const { withApp } = await import('../with-app.ts');
  return withApp(context, async (app) => {
    const { config: settings, secrets } = await app.config();
    const { configJsonSchema, maskSecrets } = await import('../../config/schema-walk.ts');
    const masked = maskSecrets(configJsonSchema(), settings, MASK);
    return hideValues(masked, new Set(secrets));
  });
}

/** Secrets of a platform's own keys are known by value only. */
function hideValues(value: unknown, secrets: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return secrets.has(value) ? MASK : value;
  if (Array.isArray(value)) return value.map((item) => hideValues(item, secrets));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, hideValues(item, secrets)]));
}
