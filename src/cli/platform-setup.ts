// The questions of `svc platforms setup <name>`. They are read off the target's description; what the environment
// already answers is not asked. Secrets go to .env, everything else to config.yaml.

import type { App } from '../app.ts';
import { setVariable } from '../config/dot-env.ts';
import { editConfig } from '../config/edit.ts';
import { jsonSchemaOf } from '../config/schema-walk.ts';
import { SvcError } from '../core/errors.ts';
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

export async function setUpPlatform(app: App, context: CliContext, target: Target): Promise<void> {
  if (target.builtIn) {
    context.stdout.write(`${target.name} needs no setup.\n`);
    return;
  }
  await app.ensureHome();
  const { environment } = await app.config();
  const open = questionsOf(target).filter(({ variable }) => !variable || environment[variable] === undefined);
  const answers = context.stdin.isTTY ? await askAll(target, open) : withoutAsking(target, open);
  if (!answers) return;
  await save(app, target, answers);
  context.stdout.write(`${target.title} is enabled. Check it with: svc platforms check ${target.name}\n`);
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

function withoutAsking(target: Target, questions: readonly Question[]): Answers {
  const missing = questions.filter(({ required }) => required);
  if (missing.length === 0) return [];
  const names = missing.map(({ variable, path }) => variable ?? `platforms.${platformKey(target)}.${path.join('.')}`);
  throw new SvcError('usage', `There is nobody to ask, and ${names.join(', ')} is not set.`, {
    help: 'Run it in a terminal, or set the variables in the environment or in .env first.',
  });
}

async function save(app: App, target: Target, answers: Answers): Promise<void> {
  const { config: configFile, env: envFile } = app.paths;
  const base = ['platforms', platformKey(target)];
  let settings = editConfig((await readIfExists(configFile)) ?? '', [...base, 'enabled'], true);
  let variables = (await readIfExists(envFile)) ?? '';
  for (const { question, value } of answers) {
    if (question.secret && question.variable) variables = setVariable(variables, question.variable, value);
    else settings = editConfig(settings, [...base, ...question.path], value);
  }
  writeFileAtomic(envFile, variables);
  await app.checkSettings(settings);
  writeFileAtomic(configFile, settings);
}
