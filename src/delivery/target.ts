// The contract of a target: one file in targets/, one line in registry.ts. A target describes itself (settings, limits,
// markup) and sends one part of one message. It does not split, retry, store or log; it never throws what it can say.

import { z } from 'zod';
import { issueSentence } from '../config/issue-text.ts';
import type { PlatformConfig } from '../config/schema.ts';
import type { Address } from '../core/address.ts';
import type { Logger } from '../core/log.ts';
import type { HttpCall, HttpReply } from '../system/fetch-json.ts';
import type { Reading } from './judge.ts';
import type { DialectName } from './markdown.ts';
import type { SendOutcome } from './outcome.ts';

/** What a platform counts when it says "characters". */
export type TextUnit = 'utf16' | 'code_points' | 'bytes';

export interface TextLimit {
  count: number;
  unit: TextUnit;
}

export interface Part {
  /** In the target's markup, or plain after the platform refused the markup. */
  text: string;
  /** Without any markup. */
  plain: string;
  /** As the agent wrote it. */
  markdown: string;
  /** False on the second try, after `markup_refused`. */
  marked: boolean;
  /** Stable over all attempts of this part. Letters, digits, `_` and `-`. */
  key: string;
  /** The route, job or command, for titles and file names. */
  source: string;
  /** Counts from 0. */
  index: number;
  count: number;
}

/** What a target may use besides its own settings. */
export interface Tools {
  /** Aborts when the attempt must end. */
  signal: AbortSignal;
  timeoutMs: number;
  now(): number;
  log: Logger;
  /** The folder of `local`. */
  deliveriesFolder: string;
  /** For child processes; targets take from it by name. */
  env: Readonly<Record<string, string | undefined>>;
  allowPrivate: boolean;
  /** Lives as long as the deliverer: access tokens. */
  memory: Map<string, unknown>;
}

export interface Connection<S, E> extends Tools {
  settings: S;
  /** The keys of `deliver_extra`. */
  extra: E;
  /** Empty when the target takes none. */
  token: string;
  /** Never empty when the target needs a chat. */
  chatId: string;
  threadId: string | undefined;
  /** One request under `settings.base_url`, judged by the common rules. `path` may also be a whole URL. */
  call(path: string, request: Omit<HttpCall, 'url' | 'timeoutMs' | 'signal'>, reading: Reading): Promise<SendOutcome>;
  /** The same, not judged. */
  ask(path: string, request: Omit<HttpCall, 'url' | 'timeoutMs' | 'signal'>): Promise<HttpReply>;
}

export interface TargetFacts {
  name: string;
  /** As its makers spell it. */
  title: string;
  /** Where its settings stand under `platforms`, when not under its name. */
  platform?: string;
  /** True for targets that work without settings and need not be enabled. */
  builtIn?: true;
  /** What `platforms.<name>.token` holds; absent when the target takes none. */
  token?: { about: string; optional?: true };
  /** What a chat id is there; absent when the target has no chats. */
  chat?: { about: string; example: string; optional?: true; pattern?: RegExp };
  thread?: { about: string; example: string };
  /** Environment variables to the keys they set: `token`, `home_channel.chat_id`, `extra.<key>`. */
  env: Readonly<Record<string, string>>;
  limit: TextLimit;
  markup: DialectName;
  /** How the platform recognises a repeated message; absent when it does not. */
  idempotency?: string;
  /** True when a message without text makes sense there. */
  takesEmptyText?: true;
}

interface TargetDefinition<S extends z.ZodObject, E extends z.ZodObject> extends TargetFacts {
  /** `platforms.<name>.extra` */
  settings: S;
  /** `deliver_extra`, besides `chat_id` and `thread_id`. */
  extra: E;
  /** What else makes the address impossible. No network. */
  problem?(connection: Bound<z.infer<S>, z.infer<E>>): string | undefined;
  send(part: Part, connection: Connection<z.infer<S>, z.infer<E>>): Promise<SendOutcome>;
  /** A harmless call that needs the credentials; absent where the platform has none. The receipt says who we are there. */
  check?(connection: Connection<z.infer<S>, undefined>): Promise<SendOutcome>;
}

/** The part of a connection that needs no network. */
export type Bound<S, E> = Pick<Connection<S, E>, 'settings' | 'extra' | 'token' | 'chatId' | 'threadId'>;

export interface Target extends TargetFacts {
  readonly settings: z.ZodObject;
  readonly extra: z.ZodObject;
  readonly hasCheck: boolean;
  /** Why it cannot work with these settings and this address (without an address: whether the settings are complete). */
  problem(platform: PlatformConfig, address: Address | undefined): string | undefined;
  /** What is wrong with the address itself, whether or not the platform is set up yet. */
  addressProblem(platform: PlatformConfig, address: Address): string | undefined;
  /** Only after `problem` found none. */
  send(platform: PlatformConfig, address: Address, part: Part, tools: ConnectTools): Promise<SendOutcome>;
  check(platform: PlatformConfig, tools: ConnectTools): Promise<SendOutcome>;
}

/** Tools, and the two ways to call that depend on the settings. */
export type ConnectTools = (baseUrl: string) => Tools & Pick<Connection<unknown, unknown>, 'call' | 'ask'>;

export function defineTarget<S extends z.ZodObject, E extends z.ZodObject>(definition: TargetDefinition<S, E>): Target {
  const own = (platform: PlatformConfig): { settings: z.infer<S>; token: string } | string => {
    const settings = definition.settings.safeParse(platform.extra);
    if (!settings.success)
      return `platforms.${platformKey(definition)}.extra: ${firstIssue(settings.error, platform.extra)}`;
    if (definition.token && !definition.token.optional && !platform.token) return missingToken(definition);
    return { settings: settings.data, token: platform.token ?? '' };
  };
  const bind = (platform: PlatformConfig, address: Address): Bound<z.infer<S>, z.infer<E>> | string => {
    const settled = own(platform);
    if (typeof settled === 'string') return settled;
    const extra = definition.extra.safeParse(address.extra ?? {});
    if (!extra.success) return `deliver_extra: ${firstIssue(extra.error, address.extra)}`;
    const chat = chatOf(definition, platform, address);
    if (typeof chat === 'string') return chat;
    return { ...settled, ...chat, extra: extra.data };
  };
  return {
    ...definition,
    hasCheck: definition.check !== undefined,
    problem(platform, address) {
      if (!address) {
        const settled = own(platform);
        return typeof settled === 'string' ? settled : undefined;
      }
      const bound = bind(platform, address);
      return typeof bound === 'string' ? bound : definition.problem?.(bound);
    },
    addressProblem(platform, address) {
      const settings = definition.settings.safeParse(platform.extra);
      const extra = definition.extra.safeParse(address.extra ?? {});
      if (!extra.success) return `deliver_extra: ${firstIssue(extra.error, address.extra)}`;
      const chat = chatOf(definition, platform, address);
      if (typeof chat === 'string') return lacksChat(definition, platform, address) ? undefined : chat;
      const isSetUp = definition.builtIn || (platform.enabled && typeof own(platform) !== 'string');
      if (!isSetUp || !settings.success) return undefined;
      return definition.problem?.({ settings: settings.data, token: platform.token ?? '', ...chat, extra: extra.data });
    },
    async send(platform, address, part, tools) {
      const bound = bind(platform, address);
      if (typeof bound === 'string') return { kind: 'refused', reason: bound };
      return definition.send(part, { ...bound, ...tools(baseOf(bound.settings)) });
    },
    async check(platform, tools) {
      const settled = own(platform);
      if (typeof settled === 'string') return { kind: 'refused', reason: settled };
      const { chatId, threadId } = homeOf(platform);
      const connection = { ...settled, ...tools(baseOf(settled.settings)), chatId, threadId, extra: undefined };
      return definition.check?.(connection) ?? { kind: 'sent' };
    },
  };
}

/** A key of `extra` that every HTTP target has. */
export const baseUrl = (standard: string) =>
  z
    .url({ protocol: /^https?$/ })
    .describe('Address of the server.')
    .default(standard);

/** The same for servers that everyone runs for themselves. */
export const ownServer = (about: string) => z.url({ protocol: /^https?$/ }).describe(about);

/** A setting that is never shown. */
export const secretText = (about: string) => z.string().min(1).describe(about).meta({ secret: true });

export const platformKey = (target: Pick<TargetFacts, 'name' | 'platform'>): string => target.platform ?? target.name;

/** Nothing: for targets without keys of their own. */
export const noKeys = z.object({});

const PLACEHOLDER = /\{[^{}]*\}/;

interface Chat {
  chatId: string;
  threadId: string | undefined;
}

/** The thread of the home channel belongs to its chat and to no other. */
function chatOf(facts: TargetFacts, platform: PlatformConfig, address: Address): Chat | string {
  if (!facts.chat) {
    // A route may keep its chat_id while it delivers to the log for a while; elsewhere it would be a silent mistake.
    if (address.chatId !== undefined && !facts.builtIn) return `${facts.name} takes no chat id.`;
    return { chatId: '', threadId: undefined };
  }
  const home = homeOf(platform);
  const chatId = address.chatId ?? home.chatId;
  const threadId = address.threadId ?? (address.chatId === undefined ? home.threadId : undefined);
  if (lacksChat(facts, platform, address)) {
    return `No chat id was given and ${facts.name} has no home channel; set platforms.${platformKey(facts)}.home_channel.chat_id.`;
  }
  const left = PLACEHOLDER.exec(chatId) ?? PLACEHOLDER.exec(threadId ?? '');
  if (left) return `The placeholder ${left[0]} was left in the chat or thread id: the payload has no such field.`;
  if (chatId !== '' && facts.chat.pattern && !facts.chat.pattern.test(chatId)) {
    return `"${chatId.slice(0, 80)}" is not ${facts.chat.about} (for example ${facts.chat.example}).`;
  }
  return { chatId, threadId };
}

const lacksChat = (facts: TargetFacts, platform: PlatformConfig, address: Address): boolean =>
  facts.chat !== undefined && !facts.chat.optional && (address.chatId ?? homeOf(platform).chatId) === '';

function homeOf({ home_channel: home }: PlatformConfig): Chat {
  return {
    chatId: home?.chat_id === undefined ? '' : String(home.chat_id),
    threadId: home?.thread_id === undefined ? undefined : String(home.thread_id),
  };
}

function baseOf(settings: object): string {
  const base: unknown = Reflect.get(settings, 'base_url');
  return typeof base === 'string' ? base.replace(/\/+$/, '') : '';
}

function missingToken(facts: TargetFacts): string {
  const key = platformKey(facts);
  const variable = Object.entries(facts.env).find(([, path]) => path === 'token')?.[0];
  return `The token is missing; set ${variable ? `${variable} or ` : ''}platforms.${key}.token, or run svc platforms setup ${facts.name}.`;
}

function firstIssue(error: z.core.$ZodError, value: unknown): string {
  const [issue] = error.issues;
  return issue ? issueSentence(issue, value) : 'invalid';
}
