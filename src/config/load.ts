// Reads the settings: defaults, then config.yaml, then <home>/.env, then the environment. Everything that is wrong is
// collected and told together, each with its place and what to do.

import { type Document, isMap, isPair, isScalar, LineCounter, parseDocument } from 'yaml';
import { canonicalTarget, spellingsOf } from '../core/names.ts';
import { nearest } from '../core/nearest.ts';
import { homeProblem, readIfExists } from '../system/files.ts';
import {
  ENVIRONMENT_SETTINGS,
  type EnvironmentSetting,
  expandReferences,
  mergeEnvironment,
  parseSetting,
} from './environment.ts';
import { issueText } from './issue-text.ts';
import { homePaths } from './paths.ts';
import type { PlatformDescription } from './platform.ts';
import { type ConfigProblem, configInvalid } from './problem.ts';
import { type Config, configSchema } from './schema.ts';
import { configJsonSchema, jsonSchemaOf, keysAt, type Path, secretStrings } from './schema-walk.ts';

export interface LoadOptions {
  home: string;
  env: NodeJS.ProcessEnv;
  /** The delivery platforms; without them platform names and their `extra` keys are not checked. */
  platforms?: readonly PlatformDescription[];
}

export interface LoadedConfig {
  config: Config;
  /** Every secret value, for redaction. */
  secrets: string[];
  /** The environment with `<home>/.env` underneath. */
  environment: Record<string, string>;
  /** How config.yaml spells the platforms that stand in it, by their real names. */
  spellings: ReadonlyMap<string, string>;
}

/** Throws SvcError `config_invalid` with all problems, or `home_unusable`. */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const paths = homePaths(options.home);
  const [text, dotEnv] = await Promise.all([readSettings(paths.config), readSettings(paths.env)]);
  const checked = checkConfig(text ?? '', dotEnv, options);
  if (checked.kind === 'invalid') throw configInvalid(checked.problems);
  return checked.loaded;
}

export type CheckedConfig = { kind: 'ok'; loaded: LoadedConfig } | { kind: 'invalid'; problems: ConfigProblem[] };

/** The same for given texts, so that an edit can be checked before it is written. Reads no file. */
export function checkConfig(text: string, dotEnv: string | undefined, options: LoadOptions): CheckedConfig {
  const paths = homePaths(options.home);
  const file = paths.config;
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const broken = document.errors.map((error) => ({
    file,
    line: lines.linePos(error.pos[0]).line,
    key: '',
    message: `This is not valid YAML: ${error.message}.`,
    help: 'Look at the indentation, quotes and colons of this line and the one before it.',
  }));
  if (broken.length > 0) return { kind: 'invalid', problems: broken };

  const problems: ConfigProblem[] = [];
  const environment = mergeEnvironment(options.env, dotEnv);
  const lineAt = (path: Path): number | undefined => lineOf(document, lines, path);
  const addProblem = (path: Path, message: string, help: string): void => {
    const variable = fromEnvironment.find((setting) => isSamePath(setting.path, path));
    const line = variable === undefined ? lineAt(path) : undefined;
    problems.push({
      file: variable === undefined ? file : `environment variable ${variable.name}`,
      ...(line === undefined ? {} : { line }),
      key: path.join('.'),
      message,
      help,
    });
  };

  const fromEnvironment: EnvironmentSetting[] = [];
  const plain: unknown = document.toJS({ maxAliasCount: 100 }) ?? {};
  if (!isGroup(plain)) {
    addProblem([], 'The file does not consist of keys.', 'Start with a line such as `model:`.');
    return { kind: 'invalid', problems };
  }
  const expanded = expandAll(plain, [], environment, (path, name) =>
    addProblem(path, `\${${name}} has no value.`, `Set ${name} in the environment or in ${paths.env}.`),
  );
  const written = isGroup(expanded) ? expanded : {};
  const { settings, spellings } = canonicalPlatforms(written, addProblem);
  const spelling = (canonical: string): string => spellings.get(canonical) ?? canonical;
  const asWritten = (path: Path): Path =>
    path[0] === 'platforms' && path.length > 1 ? ['platforms', spelling(String(path[1])), ...path.slice(2)] : path;
  const addIssues = (issues: readonly Issue[], base: Path, known: (path: Path) => string[]): void => {
    for (const issue of issues) {
      const path = [...base, ...issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))];
      if (issue.code === 'unrecognized_keys') {
        for (const key of issue.keys) addProblem(asWritten([...path, key]), ...unknownKey(key, known(path)));
      } else {
        const { message, help } = issueText(issue, valueAt(settings, path));
        addProblem(asWritten(path), message, help);
      }
    }
  };
  const knownKeys = (path: Path): string[] => keysAt(configJsonSchema(), path);
  const secrets = new Set(secretStrings(configJsonSchema(), settings));

  const overriding = [...ENVIRONMENT_SETTINGS, ...platformVariables(options.platforms ?? [])].filter(
    ({ name }) => environment[name] !== undefined,
  );
  // A wrong value that the environment hides today counts on the day the variable is gone.
  const hidden = overriding.length === 0 ? [] : (configSchema.safeParse(settings).error?.issues ?? []);
  addIssues(
    hidden.filter((issue) => overriding.some(({ path }) => isSamePath(path, issue.path.map(String)))),
    [],
    knownKeys,
  );
  fromEnvironment.push(...overriding);
  for (const { name, path, kind } of overriding) setAt(settings, path, parseSetting(kind, environment[name] ?? ''));

  const parsed = configSchema.safeParse(settings);
  addIssues(parsed.error?.issues ?? [], [], knownKeys);
  for (const secret of secretStrings(configJsonSchema(), settings)) secrets.add(secret);
  if (options.platforms !== undefined && isGroup(settings.platforms)) {
    for (const [name, value] of Object.entries(settings.platforms)) {
      if (name === 'webhook') continue;
      const platform = options.platforms.find((candidate) => candidate.name === name);
      const path = ['platforms', name];
      if (platform === undefined) {
        const known = ['webhook', ...options.platforms.flatMap((candidate) => spellingsOf(candidate.name))];
        addProblem(asWritten(path), ...unknownPlatform(spelling(name), known));
        continue;
      }
      const extra: unknown = isGroup(value) ? (value.extra ?? {}) : {};
      if (platform.extra === undefined || !isGroup(extra)) continue;
      const schema = jsonSchemaOf(platform.extra);
      for (const secret of secretStrings(schema, extra)) secrets.add(secret);
      const result = platform.extra.safeParse(extra);
      // Whether a platform that is switched off is complete is nobody's business yet; wrong keys always are.
      const enabled = isGroup(value) && value.enabled === true;
      const issues = (result.error?.issues ?? []).filter((issue) => enabled || !isMissingKey(issue, extra));
      addIssues(issues, [...path, 'extra'], (at) => keysAt(schema, at.slice(3)));
      if (result.success && parsed.success) setAt(parsed.data, [...path, 'extra'], result.data);
    }
  }

  if (problems.length > 0 || !parsed.success) {
    return { kind: 'invalid', problems: problems.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0)) };
  }
  const config = parsed.data;
  const loaded = { config, secrets: [...withPasswords(secrets)].filter(isWorthHiding), environment, spellings };
  return { kind: 'ok', loaded };
}

type Issue = NonNullable<ReturnType<typeof configSchema.safeParse>['error']>['issues'][number];
type Group = Record<string, unknown>;

async function readSettings(path: string): Promise<string | undefined> {
  try {
    return await readIfExists(path);
  } catch (error) {
    throw homeProblem(path, error);
  }
}

function unknownKey(key: string, known: readonly string[]): [message: string, help: string] {
  const meant = nearest(key, known);
  if (meant !== undefined) return [`There is no key \`${key}\` here.`, `Did you mean \`${meant}\`?`];
  return [`There is no key \`${key}\` here.`, known.length === 0 ? 'Remove it.' : `Known keys: ${known.join(', ')}.`];
}

function unknownPlatform(name: string, known: readonly string[]): [message: string, help: string] {
  const meant = nearest(name, known);
  const help = meant === undefined ? '`svc platforms list` shows all of them.' : `Did you mean \`${meant}\`?`;
  return [`There is no platform \`${name}\`.`, help];
}

/** Platform names in one spelling, and what was written for each. */
function canonicalPlatforms(
  settings: Group,
  addProblem: (path: Path, message: string, help: string) => void,
): { settings: Group; spellings: ReadonlyMap<string, string> } {
  if (!isGroup(settings.platforms)) return { settings, spellings: new Map() };
  const written = new Map<string, string>();
  const platforms: [string, unknown][] = [];
  for (const [name, value] of Object.entries(settings.platforms)) {
    const canonical = canonicalTarget(name);
    const earlier = written.get(canonical);
    if (earlier !== undefined) {
      addProblem(['platforms', name], `This is the same platform as \`${earlier}\`.`, 'Keep one of the two.');
    }
    written.set(canonical, name);
    // A platform with nothing under it is as good as one with defaults.
    platforms.push([canonical, value ?? {}]);
  }
  const spelled = { ...settings, platforms: Object.fromEntries(platforms) };
  return { settings: spelled, spellings: written };
}

function platformVariables(platforms: readonly PlatformDescription[]): EnvironmentSetting[] {
  return platforms.flatMap(({ name, env }) =>
    Object.entries(env ?? {}).map(([variable, key]) => ({
      name: variable,
      path: ['platforms', name, ...key.split('.')],
      kind: 'text' as const,
    })),
  );
}

function expandAll(
  value: unknown,
  path: Path,
  env: Readonly<Record<string, string>>,
  onMissing: (path: Path, name: string) => void,
): unknown {
  if (typeof value === 'string') return expandReferences(value, env, (name) => onMissing(path, name));
  if (Array.isArray(value)) return value.map((item, index) => expandAll(item, [...path, index], env, onMissing));
  if (!isGroup(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, expandAll(item, [...path, key], env, onMissing)]),
  );
}

/** The line of a key in a text that is known to be right, for checks that come after these. */
export function lineOfKey(text: string, path: Path): number | undefined {
  const lines = new LineCounter();
  return lineOf(parseDocument(text, { lineCounter: lines }), lines, path);
}

/** The line of the deepest key of the path that stands in the file. */
function lineOf(document: Document, lines: LineCounter, path: Path): number | undefined {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(step));
      if (!isPair(pair)) break;
      if (isScalar(pair.key) && pair.key.range) offset = pair.key.range[0];
      node = pair.value;
    } else if (typeof node === 'object' && node !== null && 'items' in node && Array.isArray(node.items)) {
      node = node.items[Number(step)];
      if (isScalar(node) && node.range) offset = node.range[0];
    } else break;
  }
  return offset === undefined ? undefined : lines.linePos(offset).line;
}

const isGroup = (value: unknown): value is Group =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isMissingKey = (issue: Issue, extra: unknown): boolean =>
  issue.code === 'invalid_type' && valueAt(extra, issue.path.map(String)) === undefined;

const isSamePath = (a: Path, b: Path): boolean => a.length === b.length && a.every((step, index) => step === b[index]);

function valueAt(value: unknown, path: Path): unknown {
  let found: unknown = value;
  for (const step of path) found = typeof found === 'object' && found !== null ? Reflect.get(found, step) : undefined;
  return found;
}

function setAt(target: Group, path: Path, value: unknown): void {
  let group = target;
  for (const step of path.slice(0, -1)) {
    const next = group[step];
    const inner: Group = isGroup(next) ? next : {};
    group[step] = inner;
    group = inner;
  }
  group[path.at(-1) ?? ''] = value;
}

/** A secret URL also hides the password inside it. */
function* withPasswords(secrets: Iterable<string>): Iterable<string> {
  for (const secret of secrets) {
    yield secret;
    const url = URL.canParse(secret) ? new URL(secret) : undefined;
    if (url?.password) {
      yield url.password;
      yield decodeURIComponent(url.password);
    }
  }
}

/** Hiding a very short value would hide half of every line; the word that means "no secret" is none. */
const isWorthHiding = (secret: string): boolean => secret.length >= 4 && secret !== 'INSECURE_NO_AUTH';
