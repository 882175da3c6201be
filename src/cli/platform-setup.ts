// The questions of `svc platforms setup <name>`. They are read off the target's description; what the environment
// already answers is not asked. Secrets go to .env, everything else to config.yaml.

import type { App } from '../app.ts';
import { setVariable } from '../config/dot-env.ts';
import { editConfig } from '../config/edit.ts';
import { jsonSchemaOf } from '../config/schema-walk.ts';
import { SvcError } from '../core/errors.ts';
import { variableAliases } from '../core/names.ts';
import { platformKey, type Target } from '../delivery/target.ts';
import { readIfExists, writeFileAtomic } from '../system/files.ts';
import type { CliContext } from './command.ts';

interface Question {
  /** Below `platforms.<name>`. */
  path: string[];
  message: string;
  secret: boolean;
  required: boolean;
  example?: string;
  /** The variable that the platform's users know. */
  variable?: string;
}

/** `name` is how the person spells the target. */
export async function setUpPlatform(app: App, context: CliContext, target: Target, name: string): Promise<void> {
  if (target.builtIn) {
    context.stdout.write(`${name} needs no setup.\n`);
    return;
  }
  await app.ensureHome();
  const { config } = await app.config();
  const questions = questionsOf(target);
  const given = questions.flatMap((question) => {
    const value = fromEnvironment(target, question, context.env);
    return value === undefined ? [] : [{ question, value }];
  });
  const isOpen = ({ path }: Question): boolean => valueAt(config.platforms[platformKey(target)], path) === undefined;
  const open = questions.filter(isOpen);
  const answers = context.stdin.isTTY ? await askAll(target, open) : withoutAsking(target, open, name);
  if (!answers) return;
  // What only this shell knows would be gone with it.
  await save(app, target, [...given, ...answers], name);
  context.stdout.write(`${target.title} is enabled. Check it with: svc platforms check ${name}\n`);
}

/** The variable that the platform's users know, or its other spelling. */
function fromEnvironment(target: Target, { variable }: Question, env: NodeJS.ProcessEnv): string | undefined {
  if (variable === undefined) return undefined;
  return [variable, ...variableAliases(target.name, variable)].map((name) => env[name]).find((value) => value);
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let found: unknown = value;
  for (const step of path) found = typeof found === 'object' && found !== null ? Reflect.get(found, step) : undefined;
  return found;
}

/** Everything a person may have to say, in the order of asking. */
function questionsOf(target: Target): Question[] {
  const variableOf = (path: string) => Object.entries(target.env).find(([, set]) => set === path)?.[0];
  const question = (path: string, rest: Omit<Question, 'path' | 'variable'>): Question => {
    const variable = variableOf(path);
    return { path: path.split('.'), ...rest, ...(variable ? { variable } : {}) };
  };
  const { token, chat } = target;
  const schema = jsonSchemaOf(target.settings);
  const settings = Object.entries(schema.properties ?? {})
    // What has a default is for those who know that they need another value.
    .filter(
      ([key, node]) => schema.required?.includes(key) || (node.default === undefined && variableOf(`extra.${key}`)),
    )
    .map(([key, node]) =>
      question(`extra.${key}`, {
        message: node.description ?? key,
        secret: node.secret === true,
        required: schema.required?.includes(key) === true,
      }),
    );
  const home = chat && {
    message: `Home channel: ${chat.about}`,
    secret: false,
    required: false,
    example: chat.example,
  };
  return [
    ...(token ? [question('token', { message: token.about, secret: true, required: !token.optional })] : []),
    ...settings,
    ...(home ? [question('home_channel.chat_id', home)] : []),
  ];
}

type Answers = { question: Question; value: string }[];

/** Undefined when the person left. */
async function askAll(target: Target, questions: readonly Question[]): Promise<Answers | undefined> {
  const ui = await import('@clack/prompts');
  ui.intro(`Setting up ${target.title}`);
  const answers: Answers = [];
  for (const question of questions) {
    const { message, required, example, secret } = question;
    const validate = (text: string | undefined) => (required && !text?.trim() ? 'This one is needed.' : undefined);
    const asked = `${message}${required ? '' : ' (may stay empty)'}`;
    const value = secret
      ? await ui.password({ message: asked, validate })
      : await ui.text({ message: asked, validate, ...(example ? { placeholder: example } : {}) });
    if (ui.isCancel(value)) {
      ui.cancel('Nothing was changed.');
      return undefined;
    }
    if (value?.trim()) answers.push({ question, value: value.trim() });
  }
  return answers;
}

function withoutAsking(target: Target, questions: readonly Question[], name: string): Answers {
  const missing = questions.filter(({ required }) => required);
  if (missing.length === 0) return [];
  const names = missing.map(
    ({ variable, path }) => variable ?? `platforms.${target.platform ?? name}.${path.join('.')}`,
  );
  throw new SvcError('usage', `There is nobody to ask, and ${names.join(', ')} is not set.`, {
    help: 'Run it in a terminal, or set the variables in the environment or in .env first.',
  });
}

async function save(app: App, target: Target, answers: Answers, name: string): Promise<void> {
  const { config: configFile, env: envFile } = app.paths;
  const base = ['platforms', target.platform ?? name];
  let settings = editConfig((await readIfExists(configFile)) ?? '', [...base, 'enabled'], true);
  let variables = (await readIfExists(envFile)) ?? '';
  for (const { question, value } of answers) {
    if (question.secret && question.variable) variables = setVariable(variables, question.variable, value);
    else settings = editConfig(settings, [...base, ...question.path], value);
  }
  await app.checkSettings(settings, variables);
  if (variables !== '') writeFileAtomic(envFile, variables);
  writeFileAtomic(configFile, settings);
}
