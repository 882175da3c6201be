// `svc model`: choose, list and test the model of the agent. Nothing is saved before it answered.

import type { Command } from 'commander';
import { originOf } from '../../agent/base-url.ts';
import { isDemo } from '../../agent/models.ts';
import type { ServerModels } from '../../agent/server-models.ts';
import type { Clocks } from '../../agent/timeouts.ts';
import { SvcError } from '../../core/errors.ts';
import type { CliContext, CommandModule } from '../command.ts';
import { addExamples, printDetails, printJson, printListing } from '../listing.ts';
import type { ModelChoice, ModelSettings, Tried } from '../model-choice.ts';

interface Options {
  provider?: string;
  baseUrl?: string;
  name?: string;
  apiKeyEnv?: string;
  list?: true;
  check?: true;
  unchecked?: true;
  json?: true;
}

export const model: CommandModule = {
  define(command: Command, context: CliContext) {
    command
      .description(
        'Choose the model of the agent. Without options: a guided choice in a terminal, else what is in force.',
      )
      .option('--base-url <url>', 'address of an OpenAI-compatible server, with or without /v1')
      .option('--name <model>', 'model name as the server knows it')
      .option('--api-key-env <variable>', 'environment variable that holds the key (the environment or <home>/.env)')
      .option('--provider <name>', 'openai-compatible, demo, or openai, anthropic, google with their own packages')
      .option('--list', 'list the models of the server, or of all local servers found')
      .option('--check', 'make a real one-line completion with the model; saves nothing')
      .option('--unchecked', 'save without trying it')
      .option('--json', 'print JSON')
      .action((options: Options) => run(context, options));
    addExamples(command, [
      'svc model',
      'svc model --list',
      'svc model --base-url http://127.0.0.1:11434 --name qwen3',
      'svc model --base-url https://openrouter.ai/api/v1 --name some/model --api-key-env OPENROUTER_API_KEY',
      'svc model --check --json',
    ]);
  },
};

async function run(context: CliContext, options: Options): Promise<void> {
  const chosen =
    options.baseUrl !== undefined ||
    options.name !== undefined ||
    options.apiKeyEnv !== undefined ||
    options.provider !== undefined;
  const { withApp } = await import('../with-app.ts');
  await withApp(context, async (app) => {
    const { config, environment } = await app.config();
    const choices = await import('../model-choice.ts');
    const choice = choiceOf(options, config.model);
    const settings = chosen ? choices.settingsWith(config.model, choice, context.env) : config.model;
    if (options.list) return list(context, options, config.model, environment);
    if (options.check) {
      return printTried(context, options, await attempt(context, settings, environment));
    }
    if (chosen) {
      const tried = options.unchecked ? undefined : await attempt(context, settings, environment);
      await choices.saveModel(app, choice);
      if (tried) printTried(context, options, tried);
      else if (options.json) printJson(context, { saved: true, checked: false, ...choice });
      const missing = missingKey(settings, environment);
      if (missing !== undefined) {
        context.stderr.write(`Note: ${missing} is not set; put it into the environment or <home>/.env.\n`);
      }
      return told(context, choices.overridingVariables(context.env), app.paths.config);
    }
    if (context.stdin.isTTY && context.stdout.isTTY && !options.json) {
      const { chooseModel } = await import('../model-wizard.ts');
      const saved = await chooseModel(app, context);
      if (saved) told(context, choices.overridingVariables(context.env), app.paths.config);
      return;
    }
    printPresent(context, options, config.model);
  });
}

/** Flags change what they name; another server or provider starts from nothing. */
function choiceOf(options: Options, present: ModelSettings): ModelChoice {
  const fresh = options.baseUrl !== undefined || options.provider !== undefined;
  const provider = options.provider ?? (fresh ? 'openai-compatible' : present.provider);
  const name = options.name ?? (fresh ? undefined : present.name);
  const baseUrl = options.baseUrl ?? (fresh ? undefined : present.base_url);
  const apiKeyEnv = options.apiKeyEnv ?? (fresh ? undefined : present.api_key_env);
  if (provider !== undefined && !isProvider(provider)) {
    throw new SvcError('usage', `There is no provider "${provider}".`, {
      help: `Use one of: ${PROVIDERS.join(', ')}.`,
    });
  }
  if (baseUrl !== undefined && !/^https?:\/\/[^/]/i.test(baseUrl)) {
    throw new SvcError('usage', `"${baseUrl}" is not an address.`, { help: 'For example: http://127.0.0.1:11434' });
  }
  return {
    ...(provider === undefined ? {} : { provider }),
    ...(name === undefined ? {} : { name }),
    ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
    ...(apiKeyEnv === undefined ? {} : { api_key_env: apiKeyEnv }),
  };
}

const PROVIDERS = ['openai-compatible', 'demo', 'openai', 'anthropic', 'google'] as const;
const isProvider = (name: string): name is (typeof PROVIDERS)[number] => PROVIDERS.some((one) => one === name);

/** The variable that should hold the key and does not. The demo needs none. */
function missingKey(settings: ModelSettings, env: Readonly<Record<string, string>>): string | undefined {
  const { api_key: key, api_key_env: name } = settings;
  return name === undefined || key !== undefined || env[name] || isDemo(settings) ? undefined : name;
}

async function attempt(
  context: CliContext,
  settings: ModelSettings,
  env: Readonly<Record<string, string>>,
): Promise<Tried> {
  const missing = missingKey(settings, env);
  if (missing !== undefined) {
    throw new SvcError(
      'model_not_configured',
      `${missing} is not set, so the model was not tried and nothing is saved.`,
      {
        help: `Set it in the environment or in <home>/.env; --unchecked saves without trying.`,
      },
    );
  }
  const { tryModel } = await import('../model-choice.ts');
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  process.once('SIGINT', interrupt);
  try {
    const onNotice = (text: string): void => void context.stderr.write(`${text}\n`);
    return await tryModel(settings, env, { signal: stop.signal, onNotice });
  } finally {
    process.removeListener('SIGINT', interrupt);
  }
}

async function list(
  context: CliContext,
  options: Options,
  present: ModelSettings,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const { findLocalServers, listModels } = await import('../model-choice.ts');
  const baseUrl = options.baseUrl ?? present.base_url;
  const rows: { server: string; model: string; contextLength?: number }[] = [];
  if (baseUrl !== undefined) {
    const keyName = options.apiKeyEnv ?? (options.baseUrl === undefined ? present.api_key_env : undefined);
    const key = options.baseUrl === undefined ? present.api_key : undefined;
    const listed = await listModels(baseUrl, key ?? (keyName === undefined ? undefined : env[keyName]));
    rows.push(...modelsOrThrow(listed).map(({ id, ...rest }) => ({ server: originOf(baseUrl), model: id, ...rest })));
  } else {
    for (const { baseUrl: found, models } of await findLocalServers()) {
      rows.push(...models.map(({ id, ...rest }) => ({ server: found, model: id, ...rest })));
    }
  }
  printListing(context, rows, {
    json: options.json === true,
    columns: [
      { title: 'SERVER', value: (row) => row.server },
      { title: 'MODEL', value: (row) => row.model },
      { title: 'CONTEXT', value: (row) => row.contextLength },
    ],
    toJson: ({ server, model: name, contextLength }) => ({
      server,
      model: name,
      context_length: contextLength ?? null,
    }),
    empty: 'No models found. Start a model server, or name one with --base-url.',
  });
}

function modelsOrThrow(listed: ServerModels): Extract<ServerModels, { kind: 'models' }>['models'] {
  if (listed.kind === 'models') return listed.models;
  throw new SvcError('model_failed', `Cannot list the models: ${listed.reason}.`, {
    help: 'Is the server running, and is the address right? A key is named with --api-key-env.',
  });
}

function printTried(context: CliContext, options: Options, tried: Tried): void {
  if (options.json) {
    printJson(context, {
      ok: true,
      model: tried.label,
      answer: tried.answer,
      milliseconds: tried.ms,
      local: tried.local,
      context_length: tried.contextLength ?? null,
      timeouts: clockSeconds(tried.clocks),
    });
    return;
  }
  const { read_s, stale_s, call_s } = clockSeconds(tried.clocks);
  const shown = (seconds: number | null): string => (seconds === null ? 'off' : `${seconds} s`);
  printDetails(context, [
    ['Model', tried.label],
    ['Answer', tried.answer.split('\n')[0]?.slice(0, 200)],
    ['Took', `${(tried.ms / 1000).toFixed(1)} s`],
    ['Local', tried.local ? 'yes' : 'no'],
    ['Context', tried.contextLength === undefined ? undefined : `${tried.contextLength} tokens`],
    ['Timeouts', `socket ${shown(read_s)}, stale stream ${shown(stale_s)}, call without streaming ${shown(call_s)}`],
  ]);
}

const clockSeconds = (clocks: Clocks): { read_s: number | null; stale_s: number | null; call_s: number | null } => ({
  read_s: clocks.read === undefined ? null : clocks.read / 1000,
  stale_s: clocks.stale === undefined ? null : clocks.stale / 1000,
  call_s: clocks.call === undefined ? null : clocks.call / 1000,
});

function printPresent(context: CliContext, options: Options, present: ModelSettings): void {
  const demo = isDemo(present);
  const provider = demo ? 'demo' : (present.provider ?? 'openai-compatible');
  const server = present.base_url === undefined ? undefined : originOf(present.base_url);
  if (options.json) {
    printJson(context, { provider, name: present.name ?? null, server: server ?? null, demo });
    return;
  }
  printDetails(context, [
    ['Provider', provider],
    ['Model', present.name],
    ['Server', server],
  ]);
  if (demo) context.stderr.write('No model is chosen: run `svc model` in a terminal, or see `svc model --help`.\n');
}

function told(context: CliContext, overriding: readonly string[], path: string): void {
  context.stderr.write(`Saved in ${path}. A running gateway takes it over with \`svc gateway restart\`.\n`);
  if (overriding.length > 0) {
    context.stderr.write(`Note: ${overriding.join(', ')} in the environment hold against what is saved.\n`);
  }
}
