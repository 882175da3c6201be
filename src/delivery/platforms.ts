// What the settings need to know of the targets: their keys, their environment variables, and which values are secret.

import type { PlatformDescription } from '../config/platform.ts';
import type { PlatformConfig } from '../config/schema.ts';
import { jsonSchemaOf, secretStrings } from '../config/schema-walk.ts';
import { variableAliases } from '../core/names.ts';
import { targets } from './registry.ts';
import { platformKey, type Target } from './target.ts';

/** For `loadConfig`, so that the keys of each platform are checked and explained. */
export const platformDescriptions: readonly PlatformDescription[] = targets
  .filter((target) => !target.builtIn || Object.keys(target.settings.shape).length > 0)
  .map((target) => ({ name: platformKey(target), extra: target.settings.strict(), env: withAliases(target) }));

/** The names that users know come last: they win over the stand-ins when both are set. */
function withAliases({ name, env }: Target): Record<string, string> {
  const known = Object.entries(env);
  const aliases = known.flatMap(([variable, key]) => variableAliases(name, variable).map((alias) => [alias, key]));
  return Object.fromEntries([...aliases, ...known]);
}

/** Every value of the platform's settings that must not be shown. */
export function secretsOf(target: Target, platform: PlatformConfig): string[] {
  const fromExtra = secretStrings(jsonSchemaOf(target.settings), platform.extra);
  return platform.token ? [platform.token, ...fromExtra] : fromExtra;
}
