// Creates and changes subscriptions. It cannot grant tools: what an agent may do is written into config.yaml by a person.

import { randomBytes } from 'node:crypto';
import type { App } from '../../app.ts';
import { SvcError } from '../../core/errors.ts';
import { routeFaults } from '../../references.ts';
import { INSECURE, makeRoute, nameProblem, type Route } from '../../webhooks/route.ts';
import { subscriptionConfig } from '../../webhooks/routes.ts';
import { changeSubscriptions, readSubscriptions, type SubscriptionRecord } from '../../webhooks/subscriptions.ts';
import type { CliContext } from '../command.ts';
import { editSettings } from '../edit-settings.ts';
import { findGateway } from '../find-gateway.ts';
import { printJson } from '../listing.ts';
import { readStandardInput } from '../standard-input.ts';
import { withApp } from '../with-app.ts';
import { isFromChat, ownerOf, requireMadeInChat } from './from-chat.ts';
import { secretsOf } from './list.ts';
import { gatewayUrl } from './settings.ts';

interface Options {
  events?: string;
  prompt?: string;
  skills?: string;
  deliver?: string;
  deliverChatId?: string;
  deliverThreadId?: string;
  deliverExtra: string[];
  deliverOnly?: true;
  agent?: true;
  description?: string;
  scheme?: string;
  secretStdin?: true;
  rotateSecret?: true;
  keepOldSecret?: true;
  disable?: true;
  enable?: true;
  json?: true;
}

const SECRET_BYTES = 32;

export async function subscribe(context: CliContext, name: string, options: Options): Promise<void> {
  const problem = nameProblem(name);
  if (problem !== undefined) throw new SvcError('usage', `"${name}" is not a name for a route: ${problem}.`);
  const given = options.secretStdin ? (await readStandardInput(context.stdin)).trim() : undefined;
  if (given === '') throw new SvcError('usage', 'Standard input holds no secret.');
  const fromChat = isFromChat(context.env);
  await withApp(context, async (app) => {
    await app.ensureHome();
    const { config } = await app.config();
    const { extra, enabled } = config.platforms.webhook;
    const now = new Date(app.clock.now()).toISOString();
    const warnings = await requireNamed(app, name, options);
    const { record, isNew } = changeSubscriptions(app.paths.subscriptions, (subscriptions) => {
      const before = subscriptions.get(name);
      if (fromChat && before !== undefined) requireMadeInChat(name, before);
      const after = changed(before, options, { given, now, fromChat });
      requireValid(name, after, extra.secret);
      subscriptions.set(name, after);
      return { record: after, isNew: before === undefined };
    });
    // A model sees a secret once, when nobody has it yet, to tell it to the person.
    const secret = isNew || !fromChat ? (secretsOf(record)[0] ?? '') : undefined;
    const url = `${gatewayUrl(app.paths, { publicUrl: extra.public_url, host: extra.host, port: extra.port })}/webhooks/${name}`;
    // To open a port is for a person to decide.
    const turnedOn = !enabled && !fromChat && (await turnOn(app));
    for (const warning of warnings) context.stderr.write(`Warning: ${warning}\n`);
    if (options.json) {
      printJson(context, { name, url, secret: secret ?? null, created: isNew, webhooks_turned_on: turnedOn });
      return;
    }
    context.stdout.write(
      `${isNew ? 'Created' : 'Changed'} ${name}\n  URL     ${url}\n  Secret  ${secret ?? 'as before'}\n`,
    );
    const hints = [
      turnedOn ? `Webhooks were off: platforms.webhook.enabled is now true in ${app.paths.config}.` : '',
      name in extra.routes ? `config.yaml has a route ${name} of its own, which wins.` : '',
      !enabled && fromChat ? 'Webhooks are off: the user turns them on with `svc gateway setup --enable`.' : '',
      nextStep(app, name, turnedOn),
    ];
    context.stderr.write(
      hints
        .filter(Boolean)
        .map((hint) => `${hint}\n`)
        .join(''),
    );
  });
}

/** The record after the change. Only what was named is touched. */
function changed(
  before: SubscriptionRecord | undefined,
  options: Options,
  { given, now, fromChat }: { given: string | undefined; now: string; fromChat: boolean },
): SubscriptionRecord {
  const old = secretsOf(before ?? {});
  const fresh =
    given ?? (options.rotateSecret || old.length === 0 ? randomBytes(SECRET_BYTES).toString('base64url') : undefined);
  const kept = options.keepOldSecret && old[0] !== undefined ? [old[0]] : [];
  const extra = extraOf(before?.deliver_extra, options);
  const { managed_by: _, ...known } = before ?? {};
  return {
    ...known,
    ...ownerOf(fromChat),
    ...(options.description === undefined ? {} : { description: options.description }),
    ...(options.events === undefined ? {} : { events: listOf(options.events) }),
    ...(options.prompt === undefined ? {} : { prompt: options.prompt }),
    ...(options.skills === undefined ? {} : { skills: listOf(options.skills) }),
    ...(options.deliver === undefined ? {} : { deliver: options.deliver }),
    ...(Object.keys(extra).length === 0 ? {} : { deliver_extra: extra }),
    ...(options.deliverOnly ? { deliver_only: true } : {}),
    ...(options.agent ? { deliver_only: false } : {}),
    ...(options.scheme === undefined ? {} : { scheme: options.scheme }),
    ...(options.disable ? { enabled: false } : {}),
    ...(options.enable ? { enabled: true } : {}),
    ...(fresh === undefined ? {} : { secret: kept.length > 0 ? [fresh, ...kept] : fresh }),
    created_at: before?.created_at ?? now,
    updated_at: now,
  };
}

function extraOf(before: unknown, options: Options): Record<string, unknown> {
  const extra: Record<string, unknown> = typeof before === 'object' && before !== null ? { ...before } : {};
  for (const pair of options.deliverExtra) {
    const equals = pair.indexOf('=');
    if (equals < 1) throw new SvcError('usage', `--deliver-extra wants key=value, not "${pair}".`);
    extra[pair.slice(0, equals)] = pair.slice(equals + 1);
  }
  if (options.deliverChatId !== undefined) extra.chat_id = options.deliverChatId;
  if (options.deliverThreadId !== undefined) extra.thread_id = options.deliverThreadId;
  return extra;
}

function requireValid(name: string, record: SubscriptionRecord, globalSecret: string | string[] | undefined): Route {
  const read = subscriptionConfig(record);
  if (read.kind === 'problem') throw new SvcError('usage', `The subscription would not work: ${read.problem}`);
  const checked = makeRoute(name, read.config, globalSecret);
  if (checked.kind === 'problems')
    throw new SvcError('usage', `The subscription would not work: ${checked.problems.join('; ')}.`);
  return checked.route;
}

/** Looks at what was named now; what stood there before may be left as it is. Returns what has to be set up still. */
async function requireNamed(app: App, name: string, options: Options): Promise<string[]> {
  const before = readSubscriptions(app.paths.subscriptions).get(name);
  const extra = extraOf(before?.deliver_extra, options);
  const draft = {
    ...(before?.deliver_only === true && !options.agent && { deliver_only: true }),
    ...(options.deliverOnly && { deliver_only: true }),
    deliver: options.deliver ?? before?.deliver,
    deliver_extra: extra,
    ...(options.skills !== undefined && { skills: listOf(options.skills) }),
  };
  const { errors, warnings } = await routeFaults(app, requireValid(name, { ...draft, secret: INSECURE }, undefined));
  const [first] = errors;
  if (first !== undefined) throw new SvcError('usage', `The subscription would not work: ${first}`);
  return warnings;
}

/** False when the environment keeps webhooks off, whatever the file says. */
async function turnOn(app: App): Promise<boolean> {
  if (app.env.WEBHOOK_ENABLED !== undefined && app.env.WEBHOOK_ENABLED !== '') return false;
  await editSettings(app, [[['platforms', 'webhook', 'enabled'], true]]);
  return true;
}

function nextStep(app: App, name: string, turnedOn: boolean): string {
  if (findGateway(app.paths) === undefined)
    return `Start the gateway with \`svc gateway\`, then try \`svc webhook test ${name}\`.`;
  return turnedOn ? 'Restart the gateway with `svc gateway restart`.' : `Try it with \`svc webhook test ${name}\`.`;
}

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
