// What the schema cannot see: whether the routes of config.yaml and the alarms of jobs lead anywhere. `svc config check` and
// the start of the gateway both come through here, and everything that is wrong is told together.

import type { App } from './app.ts';
import { lineOfKey } from './config/load.ts';
import { type ConfigProblem, configInvalid } from './config/problem.ts';
import type { RouteConfig } from './config/schema.ts';
import { parseAddresses } from './core/address.ts';
import { openReferences, type RouteFaults, routeFaults } from './references.ts';
import { readIfExists } from './system/files.ts';
import { INSECURE, makeRoute } from './webhooks/route.ts';

/** Throws SvcError `config_invalid` with all problems. Returns what works only once something else is set up. */
export async function checkReferences(app: App): Promise<ConfigProblem[]> {
  const { config } = await app.config();
  const text = (await readIfExists(app.paths.config)) ?? '';
  const at = (path: string[], message: string): ConfigProblem => {
    const line = lineOfKey(text, path);
    return { file: app.paths.config, ...(line === undefined ? {} : { line }), key: path.join('.'), message, help: '' };
  };
  const errors: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  const { enabled, extra } = config.platforms.webhook;
  for (const [name, settings] of Object.entries(extra.routes)) {
    const faults = await faultsOf(app, name, settings, extra.secret);
    const path = ['platforms', 'webhook', 'extra', 'routes', name];
    // Whether a gateway without webhooks has routes that work is nobody's business yet.
    const severity = enabled ? errors : warnings;
    severity.push(...faults.errors.map((fault) => at(path, fault)));
    warnings.push(...faults.warnings.map((fault) => at(path, fault)));
  }
  const alarms = await alarmFaults(app, config.cron.alarm_deliver);
  errors.push(...alarms.errors.map((fault) => at(['cron', 'alarm_deliver'], fault)));
  warnings.push(...alarms.warnings.map((fault) => at(['cron', 'alarm_deliver'], fault)));
  if (errors.length > 0) throw configInvalid(errors);
  return warnings;
}

async function faultsOf(
  app: App,
  name: string,
  settings: RouteConfig,
  globalSecret: string | readonly string[] | undefined,
): Promise<RouteFaults> {
  const made = makeRoute(name, settings, globalSecret);
  const own = made.kind === 'problems' ? made.problems.map((problem) => `${problem}.`) : [];
  // Without its secret, so that a route that lacks one also hears of its other faults.
  const named = makeRoute(name, { ...settings, secret: INSECURE }, undefined);
  if (named.kind === 'problems') return { errors: own, warnings: [] };
  const { errors, warnings } = await routeFaults(app, named.route);
  return { errors: [...own, ...errors], warnings };
}

async function alarmFaults(app: App, deliver: string | undefined): Promise<RouteFaults> {
  const faults: RouteFaults = { errors: [], warnings: [] };
  const parsed = deliver === undefined ? undefined : parseAddresses(deliver);
  if (parsed?.kind === 'invalid') faults.errors.push(parsed.reason);
  if (parsed?.kind !== 'ok') return faults;
  const { addressState } = openReferences(app);
  for (const address of parsed.addresses) {
    const state = await addressState(address);
    if (state.kind === 'wrong' || state.kind === 'unknown') faults.errors.push(state.reason);
    if (state.kind === 'not_set_up') faults.warnings.push(state.reason);
  }
  return faults;
}
