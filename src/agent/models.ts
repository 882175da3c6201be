// The models of this installation: which one a task gets. Nothing heavy is loaded before the first call of one.

import type { Config } from '../config/schema.ts';
import type { Clock } from '../core/time.ts';
import { realClock } from '../system/clock.ts';
import type { Model } from './model.ts';
import { demoModel } from './models/demo.ts';
import { NATIVE_PROVIDERS, type NativeProvider, nativeModel } from './models/native.ts';
import { openaiCompatibleModel } from './models/openai-compatible.ts';
import { createTransport } from './models/transport.ts';
import { clockOverrides } from './timeouts.ts';

export interface Models {
  /** The configured model, or another one of the same server. Never throws: a model that cannot work says so when called. */
  modelFor(name?: string): Model;
  /** True while the built-in demo model answers because nothing is configured. */
  readonly isDemo: boolean;
  /** Ends running calls and closes connections. Calling it twice is fine. */
  close(): Promise<void>;
}

export interface ModelsInput {
  config: Pick<Config, 'model'>;
  /** The environment with `<home>/.env` in it: keys and the variables of the clocks. */
  env: Readonly<Record<string, string | undefined>>;
  clock?: Clock;
  /** Waits between attempts; an empty list means no retries. */
  retryDelaysMs?: readonly number[];
  /** Silence of a local server before it is asked how it is. */
  silenceMs?: number;
}

const RETRY_DELAYS_MS = [1000, 3000, 8000];

/** Throws `config_invalid` when a clock variable cannot be read. */
export function createModels({ config, env, clock = realClock, ...tuning }: ModelsInput): Models {
  const settings = config.model;
  const demo = isDemo(settings);
  const transport = createTransport(env);
  const shared = {
    maxTokens: settings.max_tokens,
    contextLength: settings.context_length,
    overrides: clockOverrides(env),
    transport,
    clock,
    retryDelaysMs: tuning.retryDelaysMs ?? RETRY_DELAYS_MS,
  };

  const create = (name: string | undefined): Model => {
    if (name === 'demo' || (demo && name === undefined)) return demoModel();
    const provider = settings.provider ?? 'openai-compatible';
    if (isNative(provider)) {
      if (name === undefined) return unable(provider, `No model name is set for the provider "${provider}".`);
      const apiKey = keyOf(settings, env, NATIVE_PROVIDERS[provider].keys);
      if (apiKey === undefined) {
        const variables = NATIVE_PROVIDERS[provider].keys.join(' or ');
        return unable(
          name,
          `There is no key for the provider "${provider}".`,
          `Set ${variables} or model.api_key_env.`,
        );
      }
      return nativeModel({ ...shared, provider, name, apiKey, baseUrl: settings.base_url });
    }
    if (settings.base_url === undefined) return unable(name ?? 'the model', 'No model server is configured.');
    return openaiCompatibleModel({
      ...shared,
      name,
      baseUrl: settings.base_url,
      apiKey: keyOf(settings, env, []),
      ...(tuning.silenceMs === undefined ? {} : { silenceMs: tuning.silenceMs }),
    });
  };

  // Kept, because a model learns what its server cannot do.
  const made = new Map<string | undefined, Model>();
  return {
    isDemo: demo,
    modelFor(wanted) {
      const name = wanted ?? settings.name;
      const model = made.get(name) ?? create(name);
      made.set(name, model);
      return model;
    },
    close: () => transport.close(),
  };
}

/** Whether the built-in demo model answers: by choice, or because nothing is configured. */
export const isDemo = (settings: Config['model']): boolean =>
  settings.provider === 'demo' || (!settings.provider && !settings.base_url && !settings.name);

const isNative = (provider: string): provider is NativeProvider => Object.hasOwn(NATIVE_PROVIDERS, provider);

function keyOf(settings: Config['model'], env: ModelsInput['env'], usual: readonly string[]): string | undefined {
  const named = settings.api_key_env === undefined ? usual : [settings.api_key_env];
  return settings.api_key ?? named.map((name) => env[name]).find((value) => value !== undefined && value !== '');
}

const unable = (label: string, reason: string, help = 'Choose a model with `svc model`.'): Model => ({
  label,
  contextLength: undefined,
  complete: async () => ({ kind: 'failed', reason, transient: false, help }),
});
