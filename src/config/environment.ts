// The environment variables that set a key of config.yaml, `<home>/.env` included, and `${NAME}` inside its strings.

import { parseEnv } from 'node:util';
import type { Path } from './schema-walk.ts';

export interface EnvironmentSetting {
  name: string;
  path: Path;
  kind: 'text' | 'boolean' | 'number';
}

export const ENVIRONMENT_SETTINGS: readonly EnvironmentSetting[] = [
  { name: 'WEBHOOK_ENABLED', path: ['platforms', 'webhook', 'enabled'], kind: 'boolean' },
  { name: 'WEBHOOK_PORT', path: ['platforms', 'webhook', 'extra', 'port'], kind: 'number' },
  { name: 'WEBHOOK_SECRET', path: ['platforms', 'webhook', 'extra', 'secret'], kind: 'text' },
  { name: 'SVC_DATABASE_URL', path: ['database', 'url'], kind: 'text' },
  { name: 'SVC_MODEL', path: ['model', 'name'], kind: 'text' },
  { name: 'SVC_MODEL_BASE_URL', path: ['model', 'base_url'], kind: 'text' },
  { name: 'SVC_MODEL_API_KEY', path: ['model', 'api_key'], kind: 'text' },
];

/** What the process sees: the environment, then `.env` for names it does not set. An empty value counts as not set. */
export function mergeEnvironment(env: NodeJS.ProcessEnv, dotEnv: string | undefined): Record<string, string> {
  const merged: Record<string, string> = {};
  for (const source of [dotEnv === undefined ? {} : parseEnv(dotEnv), env]) {
    for (const [name, value] of Object.entries(source)) if (value) merged[name] = value;
  }
  return merged;
}

/** The value for the schema to check. What cannot be read stays text, so that the schema names what it expected. */
export function parseSetting(kind: EnvironmentSetting['kind'], text: string): string | number | boolean {
  if (kind === 'boolean') {
    if (/^(true|1|yes|on)$/i.test(text)) return true;
    if (/^(false|0|no|off)$/i.test(text)) return false;
  }
  if (kind === 'number' && /^\s*\d+(\.\d+)?\s*$/.test(text)) return Number(text);
  return text;
}

// Upper case only: `${amount}` in a prompt is a dollar sign before the template field {amount}.
const REFERENCE = /\$(\$?)\{([A-Z_][A-Z0-9_]*)\}/g;

/** Replaces `${NAME}`; `$${NAME}` stands for the text `${NAME}`. Names without a value are reported and left. */
export function expandReferences(
  text: string,
  env: Readonly<Record<string, string>>,
  onMissing: (name: string) => void,
): string {
  return text.replace(REFERENCE, (whole: string, escaped: string, name: string) => {
    if (escaped) return whole.slice(1);
    const value = env[name];
    if (value === undefined) onMissing(name);
    return value ?? whole;
  });
}
