// A route as the gateway uses it: secrets resolved, templates split, everything checked once, before the first request.

import type { Filter, RouteConfig } from '../config/schema.ts';
import { type Address, type ParsedAddresses, parseAddresses } from '../core/address.ts';
import { canonicalTarget } from '../core/names.ts';
import { filterProblems } from './filters.ts';
import { type Scheme, schemesNamed } from './schemes.ts';
import { readSecret, type Secret, secretProblem } from './signature.ts';
import { compileTemplate, type Template } from './template.ts';

export interface Route {
  name: string;
  events: readonly string[];
  /** Undefined when requests are not verified at all (`INSECURE_NO_AUTH`). */
  auth: { schemes: readonly Scheme[]; secrets: readonly Secret[] } | undefined;
  filters: Filter | readonly Filter[] | undefined;
  prompt: Template | undefined;
  skills: string[];
  /** As the user wrote it; answers echo it. */
  deliver: string;
  addresses: readonly Address[];
  /** Every value is a template. */
  deliverExtra: readonly { key: string; value: Template }[];
  deliverOnly: boolean;
  toolsets: string[];
  model: string | undefined;
  concurrency: number | undefined;
  serialKey: Template | undefined;
  timeoutMs: number | undefined;
  cronJob: string | undefined;
  dedupeBody: boolean;
}

export type CheckedRoute = { kind: 'route'; route: Route } | { kind: 'problems'; problems: string[] };

export const INSECURE = 'INSECURE_NO_AUTH';
const DEFAULT_TOOLSETS = ['svc-webhook'];

/** Builds the route, or says everything that is wrong with it. */
export function makeRoute(
  name: string,
  config: RouteConfig,
  globalSecret: string | readonly string[] | undefined,
): CheckedRoute {
  const schemes = schemesNamed(config.scheme);
  const secrets = listOf(config.secret ?? globalSecret);
  const deliver = parseAddresses(config.deliver);
  const problems = [
    ...nameProblems(name),
    ...secretProblems(schemes, secrets),
    ...(config.filters === undefined ? [] : filterProblems(config.filters)),
    ...effectProblems(config, deliver),
  ];
  if (problems.length > 0 || deliver.kind === 'invalid')
    return { kind: 'problems', problems: problems.map((problem) => `route ${name}: ${problem}`) };
  return {
    kind: 'route',
    route: {
      name,
      events: config.events,
      auth: secrets[0] === INSECURE ? undefined : { schemes, secrets: secrets.map(readSecret) },
      filters: config.filters,
      prompt: config.prompt === undefined ? undefined : compileTemplate(config.prompt),
      skills: config.skills,
      deliver: config.deliver,
      addresses: deliver.addresses,
      deliverExtra: Object.entries(config.deliver_extra).map(([key, value]) => ({
        key,
        value: compileTemplate(String(value)),
      })),
      deliverOnly: config.deliver_only,
      toolsets: config.toolsets ?? DEFAULT_TOOLSETS,
      model: config.model,
      concurrency: config.concurrency,
      serialKey: config.serial_key === undefined ? undefined : compileTemplate(config.serial_key),
      timeoutMs: config.timeout_s === undefined ? undefined : config.timeout_s * 1000,
      cronJob: config.cron_job,
      dedupeBody: config.dedupe_body,
    },
  };
}

/** Why nothing could be reached under this name, or undefined. */
export function nameProblem(name: string): string | undefined {
  if (/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/.test(name)) return undefined;
  return 'a name is 1 to 100 letters, digits, dots, dashes or underscores and starts with a letter or digit';
}

const nameProblems = (name: string): string[] => {
  const problem = nameProblem(name);
  return problem === undefined ? [] : [problem];
};

function secretProblems(schemes: readonly Scheme[], secrets: readonly string[]): string[] {
  if (secrets.length === 0)
    return ['no secret: set one on the route or for all in platforms.webhook.extra.secret (or WEBHOOK_SECRET)'];
  if (secrets.includes(INSECURE))
    return secrets.length === 1 ? [] : [`${INSECURE} cannot stand beside a secret, because it lets everyone in`];
  return secrets.flatMap((secret) => secretProblem(schemes, secret) ?? []);
}

function effectProblems(config: RouteConfig, deliver: ParsedAddresses): string[] {
  if (deliver.kind === 'invalid') return [`deliver: ${deliver.reason}`];
  const problems: string[] = [];
  if (config.deliver_only && deliver.addresses.some(({ target }) => canonicalTarget(target) === 'log'))
    problems.push('deliver_only needs `deliver` to be a real target, not `log`');
  if (config.deliver_only && config.cron_job !== undefined)
    problems.push('deliver_only and cron_job exclude each other: the one skips the agent, the other starts a job');
  return problems;
}

const listOf = (secret: string | readonly string[] | undefined): readonly string[] => {
  if (secret === undefined) return [];
  return typeof secret === 'string' ? [secret] : secret;
};
