// Finding, trying and saving a model, for the wizard and the flags of `svc model` alike.

import { isLocalEndpoint } from '../agent/local-endpoint.ts';
import { createModels } from '../agent/models.ts';
import { askContextLength, askModels, type ServerModels } from '../agent/server-models.ts';
import { type Clocks, clockOverrides, clocksFor } from '../agent/timeouts.ts';
import type { App } from '../app.ts';
import { editConfig } from '../config/edit.ts';
import { type Config, configSchema } from '../config/schema.ts';
import { SvcError } from '../core/errors.ts';
import { createHttpCaller } from '../system/fetch-json.ts';
import { readIfExists, writeFileAtomic } from '../system/files.ts';

export type ModelSettings = Config['model'];
export type ModelChoice = Pick<ModelSettings, 'provider' | 'name' | 'base_url' | 'api_key_env'>;

export const LOCAL_SERVERS = [
  { program: 'Ollama', baseUrl: 'http://127.0.0.1:11434' },
  { program: 'llama.cpp', baseUrl: 'http://127.0.0.1:8080' },
  { program: 'LM Studio', baseUrl: 'http://127.0.0.1:1234' },
  { program: 'vLLM', baseUrl: 'http://127.0.0.1:8000' },
  { program: 'SGLang', baseUrl: 'http://127.0.0.1:30000' },
  { program: 'Jan', baseUrl: 'http://127.0.0.1:1337' },
] as const;

export const KNOWN_PROVIDERS = [
  { title: 'OpenAI', baseUrl: 'https://api.openai.com/v1', keyEnv: 'OPENAI_API_KEY' },
  { title: 'Anthropic', baseUrl: 'https://api.anthropic.com/v1', keyEnv: 'ANTHROPIC_API_KEY' },
  {
    title: 'Google Gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    keyEnv: 'GEMINI_API_KEY',
  },
  { title: 'OpenRouter', baseUrl: 'https://openrouter.ai/api/v1', keyEnv: 'OPENROUTER_API_KEY' },
  { title: 'Mistral', baseUrl: 'https://api.mistral.ai/v1', keyEnv: 'MISTRAL_API_KEY' },
  { title: 'Groq', baseUrl: 'https://api.groq.com/openai/v1', keyEnv: 'GROQ_API_KEY' },
  { title: 'DeepSeek', baseUrl: 'https://api.deepseek.com/v1', keyEnv: 'DEEPSEEK_API_KEY' },
] as const;

export interface FoundServer {
  program: string;
  baseUrl: string;
  models: { id: string; contextLength?: number }[];
}

const FIND_MS = 1500;
const LIST_MS = 15_000;

/** The model servers that answer on their usual ports of this machine. */
export async function findLocalServers(): Promise<FoundServer[]> {
  const http = createHttpCaller({ connectTimeoutMs: FIND_MS });
  try {
    const asked = LOCAL_SERVERS.map(async ({ program, baseUrl }) => {
      const listed = await askModels({ call: http.call, baseUrl, apiKey: undefined, timeoutMs: FIND_MS });
      return listed.kind === 'models' ? [{ program, baseUrl, models: listed.models }] : [];
    });
    return (await Promise.all(asked)).flat();
  } finally {
    await http.close();
  }
}

export async function listModels(baseUrl: string, apiKey: string | undefined): Promise<ServerModels> {
  const http = createHttpCaller();
  try {
    return await askModels({ call: http.call, baseUrl, apiKey, timeoutMs: LIST_MS });
  } finally {
    await http.close();
  }
}

export interface Tried {
  label: string;
  answer: string;
  ms: number;
  contextLength?: number;
  local: boolean;
  clocks: Clocks;
}

/** A real one-line completion. Throws `model_failed` with the reason and the next step. */
export async function tryModel(
  settings: ModelSettings,
  env: Readonly<Record<string, string | undefined>>,
  heard: { signal: AbortSignal; onNotice(text: string): void },
): Promise<Tried> {
  const models = createModels({ config: { model: settings }, env, retryDelaysMs: [] });
  try {
    const model = models.modelFor();
    const startedAt = performance.now();
    let thought = false;
    const reply = await model.complete({
      system: '',
      messages: [{ role: 'user', content: 'Answer with one short line: are you ready?' }],
      tools: [],
      signal: heard.signal,
      onThinking: () => {
        thought = true;
      },
      onNotice: heard.onNotice,
    });
    if (reply.kind === 'aborted') throw new SvcError('model_failed', 'Stopped.');
    if (reply.kind === 'failed') {
      throw new SvcError('model_failed', reply.reason, reply.help === undefined ? {} : { help: reply.help });
    }
    const answer = reply.text.trim();
    if (answer === '' && !thought) {
      throw new SvcError('model_failed', `${model.label} answered with nothing.`, { help: 'Is it a chat model?' });
    }
    const ms = Math.round(performance.now() - startedAt);
    const local = settings.base_url !== undefined && (await isLocalEndpoint(settings.base_url));
    const contextLength = settings.context_length ?? (await contextLengthOf(settings, env, local));
    return {
      label: model.label,
      answer,
      ms,
      ...(contextLength === undefined ? {} : { contextLength }),
      local,
      clocks: clocksFor(local, clockOverrides(env)),
    };
  } finally {
    await models.close();
  }
}

async function contextLengthOf(
  { base_url: baseUrl, name, api_key, api_key_env }: ModelSettings,
  env: Readonly<Record<string, string | undefined>>,
  local: boolean,
): Promise<number | undefined> {
  if (baseUrl === undefined || name === undefined) return undefined;
  const apiKey = api_key ?? (api_key_env === undefined ? undefined : env[api_key_env]);
  const http = createHttpCaller();
  try {
    return await askContextLength({ call: http.call, baseUrl, apiKey, timeoutMs: LIST_MS }, name, local);
  } finally {
    await http.close();
  }
}

/** The settings that this choice makes of the present ones. A key belongs to its server and never goes to another. */
export function settingsWith(
  present: ModelSettings,
  choice: ModelChoice,
  env: Readonly<Record<string, string | undefined>>,
): ModelSettings {
  const api_key = env.SVC_MODEL_API_KEY || (isSameServer(present, choice) ? present.api_key : undefined);
  return configSchema.shape.model.parse({ ...choice, api_key, max_tokens: present.max_tokens });
}

/** Writes the choice to config.yaml and keeps everything else there, comments included. */
export async function saveModel(app: App, choice: ModelChoice): Promise<void> {
  await app.ensureHome();
  const { config } = await app.config();
  let text = (await readIfExists(app.paths.config)) ?? '';
  const values = { provider: undefined, name: undefined, base_url: undefined, api_key_env: undefined, ...choice };
  for (const [key, value] of Object.entries(values)) text = editConfig(text, ['model', key], value);
  // What was true of the model before is not true of this one.
  text = editConfig(text, ['model', 'context_length'], undefined);
  if (!isSameServer(config.model, choice)) text = editConfig(text, ['model', 'api_key'], undefined);
  await app.checkSettings(text);
  writeFileAtomic(app.paths.config, text);
}

const isSameServer = (present: ModelSettings, choice: ModelChoice): boolean =>
  present.base_url === choice.base_url && present.provider === choice.provider && choice.api_key_env === undefined;

/** Variables that hold against what is saved. */
export const overridingVariables = (env: Readonly<Record<string, string | undefined>>): string[] =>
  ['SVC_MODEL', 'SVC_MODEL_BASE_URL', 'SVC_MODEL_API_KEY'].filter((name) => env[name]);
