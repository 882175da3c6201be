// The guided choice of a model: found local servers, known providers, a custom endpoint or the demo. What was chosen is
// tried with a real completion before it is saved.

import { originOf } from '../agent/base-url.ts';
import type { App } from '../app.ts';
import { setVariable } from '../config/dot-env.ts';
import { messageOf, SvcError } from '../core/errors.ts';
import { readIfExists, writeFileAtomic } from '../system/files.ts';
import type { CliContext } from './command.ts';
import {
  findLocalServers,
  KNOWN_PROVIDERS,
  listModels,
  type ModelChoice,
  saveModel,
  settingsWith,
  tryModel,
} from './model-choice.ts';

type Prompts = typeof import('@clack/prompts');
type Environment = Readonly<Record<string, string>>;

interface Picked {
  choice: ModelChoice;
  /** A key that was typed in and belongs into `.env`. */
  newKey?: { name: string; value: string };
}

const KEY_NAME = 'SVC_CUSTOM_MODEL_API_KEY';

/** False when the person left without a choice. */
export async function chooseModel(app: App, context: CliContext): Promise<boolean> {
  const ui = await import('@clack/prompts');
  const { config, environment } = await app.config();
  ui.intro('The model of the agent');
  const picked = await pick(ui, environment);
  if (picked === undefined) {
    ui.cancel('Nothing was changed.');
    return false;
  }
  const env = picked.newKey ? { ...environment, [picked.newKey.name]: picked.newKey.value } : environment;
  if (
    picked.choice.provider !== 'demo' &&
    !(await tried(ui, settingsWith(config.model, picked.choice, context.env), env))
  ) {
    const anyway = await ui.confirm({ message: 'It did not answer. Save it all the same?', initialValue: false });
    if (anyway !== true) {
      ui.cancel('Nothing was changed.');
      return false;
    }
  }
  if (picked.newKey) await saveKey(app, picked.newKey);
  await saveModel(app, picked.choice);
  ui.outro(`Saved: ${picked.choice.name ?? 'the demo model'}`);
  return true;
}

async function pick(ui: Prompts, env: Environment): Promise<Picked | undefined> {
  const looking = ui.spinner();
  looking.start('Looking for model servers on this machine');
  const found = await findLocalServers();
  looking.stop(found.length === 0 ? 'No model server found on this machine' : `Found ${found.length} on this machine`);
  const where = await ui.select({
    message: 'Where is the model?',
    options: [
      ...found.map(({ program, baseUrl, models }) => ({
        value: `local ${baseUrl}`,
        label: `${program} at ${originOf(baseUrl)}`,
        hint: `${models.length} models`,
      })),
      { value: 'custom', label: 'Custom endpoint', hint: 'base URL and model name' },
      ...KNOWN_PROVIDERS.map(({ title, baseUrl, keyEnv }) => ({
        value: `known ${baseUrl}`,
        label: title,
        ...(env[keyEnv] ? { hint: `${keyEnv} is set` } : {}),
      })),
      { value: 'demo', label: 'Demo', hint: 'built in, does not think' },
    ],
  });
  if (typeof where !== 'string') return undefined;
  if (where === 'demo') return { choice: { provider: 'demo' } };
  if (where === 'custom') return pickCustom(ui, env);
  const baseUrl = where.slice(where.indexOf(' ') + 1);
  const known = KNOWN_PROVIDERS.find((one) => where.startsWith('known ') && one.baseUrl === baseUrl);
  return pickModel(ui, env, baseUrl, known?.keyEnv);
}

async function pickCustom(ui: Prompts, env: Environment): Promise<Picked | undefined> {
  const baseUrl = await ui.text({
    message: 'Base URL',
    placeholder: 'http://127.0.0.1:8080',
    validate: (text) => (/^https?:\/\/[^/]/i.test(text ?? '') ? undefined : 'It begins with http:// or https://'),
  });
  if (typeof baseUrl !== 'string') return undefined;
  const wantsKey = await ui.confirm({ message: 'Does it need a key?', initialValue: false });
  if (typeof wantsKey !== 'boolean') return undefined;
  return pickModel(ui, env, baseUrl, wantsKey ? KEY_NAME : undefined);
}

async function pickModel(
  ui: Prompts,
  env: Environment,
  baseUrl: string,
  keyName: string | undefined,
): Promise<Picked | undefined> {
  const key = keyName === undefined ? undefined : await askKey(ui, env, keyName);
  if (keyName !== undefined && key === undefined) return undefined;
  const listed = await listModels(baseUrl, key);
  const names = listed.kind === 'models' ? listed.models.map(({ id }) => id) : [];
  if (listed.kind === 'failed') ui.log.warn(`No list of models: ${listed.reason}.`);
  const name = await askName(ui, names);
  if (name === undefined) return undefined;
  const choice: ModelChoice = {
    provider: 'openai-compatible',
    name,
    base_url: baseUrl,
    ...(keyName === undefined ? {} : { api_key_env: keyName }),
  };
  const isNew = keyName !== undefined && key !== undefined && env[keyName] !== key;
  return isNew ? { choice, newKey: { name: keyName, value: key } } : { choice };
}

const OTHER = '';

async function askName(ui: Prompts, names: readonly string[]): Promise<string | undefined> {
  if (names.length > 0) {
    const options = [...names.map((name) => ({ value: name, label: name })), { value: OTHER, label: 'Another name' }];
    const picked = await ui.autocomplete({ message: 'Model (type to search)', options, maxItems: 12 });
    if (typeof picked !== 'string') return undefined;
    if (picked !== OTHER) return picked;
  }
  const typed = await ui.text({
    message: 'Model name',
    validate: (text) => (text?.trim() ? undefined : 'As the server knows it'),
  });
  return typeof typed === 'string' ? typed.trim() : undefined;
}

async function askKey(ui: Prompts, env: Environment, name: string): Promise<string | undefined> {
  const present = env[name];
  if (present !== undefined) {
    const keep = await ui.confirm({ message: `Use the key in ${name}?`, initialValue: true });
    if (typeof keep !== 'boolean') return undefined;
    if (keep) return present;
  }
  const typed = await ui.password({
    message: `Key (kept in .env as ${name})`,
    validate: (text) => (text?.trim() ? undefined : 'The key of this server'),
  });
  return typeof typed === 'string' ? typed.trim() : undefined;
}

async function tried(ui: Prompts, settings: Parameters<typeof tryModel>[0], env: Environment): Promise<boolean> {
  const trying = ui.spinner();
  const stop = new AbortController();
  trying.start('Asking for one line');
  try {
    const { answer, ms } = await tryModel(settings, env, {
      signal: stop.signal,
      onNotice: (text) => trying.message(text),
    });
    trying.stop(`It answered in ${(ms / 1000).toFixed(1)} s: ${answer.split('\n')[0]?.slice(0, 100) ?? ''}`);
    return true;
  } catch (error) {
    trying.error(messageOf(error));
    if (error instanceof SvcError && error.help) ui.log.info(error.help);
    return false;
  }
}

async function saveKey(app: App, key: { name: string; value: string }): Promise<void> {
  await app.ensureHome();
  writeFileAtomic(app.paths.env, setVariable((await readIfExists(app.paths.env)) ?? '', key.name, key.value));
}
