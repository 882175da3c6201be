// Providers with an API of their own. Their packages are optional and loaded with the first call; what is missing is
// said with the command that installs it.

import type { LanguageModelV4 } from '@ai-sdk/provider';
import { SvcError } from '../../core/errors.ts';
import { originOf } from '../base-url.ts';
import type { Model } from '../model.ts';
import { clocksFor } from '../timeouts.ts';
import { remoteModel, type ServerSettings } from './remote-model.ts';
import { sdkCall, socketFetch } from './sdk-call.ts';

export const NATIVE_PROVIDERS = {
  openai: { package: '@ai-sdk/openai', create: 'createOpenAI', keys: ['OPENAI_API_KEY'] },
  anthropic: { package: '@ai-sdk/anthropic', create: 'createAnthropic', keys: ['ANTHROPIC_API_KEY'] },
  google: {
    package: '@ai-sdk/google',
    create: 'createGoogleGenerativeAI',
    keys: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
  },
} as const;

export type NativeProvider = keyof typeof NATIVE_PROVIDERS;

export interface NativeOptions extends ServerSettings {
  provider: NativeProvider;
  name: string;
  apiKey: string | undefined;
  baseUrl: string | undefined;
}

type Create = (settings: Record<string, unknown>) => (name: string) => LanguageModelV4;

export function nativeModel(options: NativeOptions): Model {
  const { provider, name, apiKey, baseUrl } = options;
  const server = baseUrl === undefined ? provider : originOf(baseUrl);
  return remoteModel({
    label: `${name} at ${server}`,
    server,
    secret: apiKey,
    maxTokens: options.maxTokens,
    contextLength: () => options.contextLength,
    clock: options.clock,
    retryDelaysMs: options.retryDelaysMs,
    async connect() {
      const { request, dispatcher } = await options.transport.open(false);
      return { request, dispatcher, clocks: clocksFor(false, options.overrides) };
    },
    async speak(line) {
      const create = await load(provider);
      const base = baseUrl === undefined ? {} : { baseURL: baseUrl };
      return sdkCall(create({ ...base, apiKey: apiKey ?? '', fetch: socketFetch(line.socket) })(name), line);
    },
  });
}

async function load(provider: NativeProvider): Promise<Create> {
  const { package: name, create } = NATIVE_PROVIDERS[provider];
  try {
    const loaded: Record<string, unknown> = await import(name);
    const found = loaded[create];
    if (typeof found === 'function') return found as Create;
  } catch (cause) {
    throw missing(provider, name, cause);
  }
  throw missing(provider, name);
}

const missing = (provider: NativeProvider, name: string, cause?: unknown): SvcError =>
  new SvcError('part_missing', `The provider "${provider}" needs the package ${name}, which is not installed.`, {
    help: `Install it beside svc: npm install ${name}`,
    cause,
  });
