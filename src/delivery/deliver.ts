// One attempt to send one message. Outcomes are values; nothing here retries, stores or decides when to try again.

import type { Config, PlatformConfig } from '../config/schema.ts';
import { type Address, formatAddress } from '../core/address.ts';
import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { createHttpCaller, type HttpCaller } from '../system/fetch-json.ts';
import { judge } from './judge.ts';
import { renderMarkdown } from './markdown.ts';
import type { SendOutcome } from './outcome.ts';
import { secretsOf } from './platforms.ts';
import { findTarget, targets as knownTargets, unknownTarget } from './registry.ts';
import { countText, splitMarkdown } from './split.ts';
import { type ConnectTools, type Part, platformKey, type Target, type Tools } from './target.ts';

export interface OutgoingMessage {
  /** Stable over all attempts: the idempotency key where the platform has one. */
  id: string;
  address: Address;
  /** Markdown as the agent wrote it; each target renders its own dialect. */
  text: string;
  /** Names the route, job or command, for titles, subjects and file names. */
  source: string;
  /** How many parts of a split text were sent by earlier attempts. */
  partsSent: number;
}

export type DeliveryOutcome =
  /** `receipt` is what the platform calls the message (an id, a URL, a path). */
  | { kind: 'delivered'; receipt?: string; note?: string }
  /** Final: the target said no, or cannot ever work. `reason` is for the operator and holds no secret. */
  | { kind: 'refused'; reason: string; partsSent: number }
  /** Worth another try, not before `afterMs` when given. */
  | { kind: 'failed'; reason: string; partsSent: number; afterMs?: number }
  /** Sent, but no answer came: it may have arrived. */
  | { kind: 'unknown'; reason: string; partsSent: number };

export interface Deliverer {
  /** Why this address can never work as things are set up, or undefined. Never calls the network. */
  problem(address: Address): string | undefined;
  /**
   * One attempt; ends when the signal aborts (outcome `failed` or `unknown`). Never throws, never logs a secret.
   * `onPart` is awaited after each part but the last, so that what was sent can be recorded.
   */
  attempt(
    message: OutgoingMessage,
    signal: AbortSignal,
    onPart?: (partsSent: number) => Promise<void>,
  ): Promise<DeliveryOutcome>;
}

/** What can be said of an address before anything is sent there. */
export type AddressState =
  | { kind: 'ready' }
  /** The target exists and the address is one of its; its platform is not enabled or not complete yet. */
  | { kind: 'not_set_up'; reason: string }
  /** The target has no such places: mending the settings would not help. */
  | { kind: 'wrong'; reason: string }
  | { kind: 'unknown'; reason: string };

/** What commands and start-up checks need besides sending. */
export interface Delivery extends Deliverer {
  /**
   * The same look as `problem`, told apart by what has to be mended. `open` says that the place within the target is known
   * only later, from a payload.
   */
  stateOf(address: Address, options?: { open?: boolean }): AddressState;
  /** A harmless authenticated call. `written` is how the person spells the target. Never throws. */
  check(target: Target, signal: AbortSignal, written?: string): Promise<SendOutcome>;
  /** Lets go of connections. Calling it twice is fine. */
  close(): Promise<void>;
}

export interface DeliveryOptions {
  platforms: Config['platforms'];
  allowPrivate: boolean;
  log: Logger;
  now(): number;
  deliveriesFolder: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Targets that live in this house (a chat session), besides the registry. */
  inHouse?: readonly Target[];
  http?: HttpCaller;
  /** Of one request. */
  timeoutMs?: number;
}

const REQUEST_TIMEOUT_MS = 30_000;
// A flood of messages helps nobody: beyond this the text belongs into a file.
const MAX_PARTS = 50;

export function createDelivery(options: DeliveryOptions): Delivery {
  const targets = [...knownTargets, ...(options.inHouse ?? [])];
  const http = options.http ?? createHttpCaller();
  const memory = new Map<string, unknown>();
  const platformOf = (target: Target): PlatformConfig =>
    options.platforms[platformKey(target)] ?? { enabled: false, extra: {} };

  const hiders = new Map<Target, (text: string) => string>();
  const hiderOf = (target: Target): ((text: string) => string) => {
    const hide = hiders.get(target) ?? hiding(secretsOf(target, platformOf(target)));
    hiders.set(target, hide);
    return hide;
  };

  const toolsFor =
    (signal: AbortSignal): ConnectTools =>
    (base) => {
      const timeoutMs = options.timeoutMs ?? REQUEST_TIMEOUT_MS;
      const { now, log, deliveriesFolder, env, allowPrivate } = options;
      const tools: Tools = { now, log, deliveriesFolder, env, allowPrivate, signal, timeoutMs, memory };
      const ask: ReturnType<ConnectTools>['ask'] = (path, request) =>
        http.call({ ...request, url: path.startsWith('/') ? base + path : path, timeoutMs, signal });
      return {
        ...tools,
        ask,
        call: async (path, request, reading) => judge(await ask(path, request), reading, options.now()),
      };
    };

  const resolve = (address: Address): { target: Target; platform: PlatformConfig } | string => {
    const target = findTarget(address.target, targets);
    if (!target) return unknownTarget(address.target, targets);
    const platform = platformOf(target);
    if (!target.builtIn && !platform.enabled) return notEnabled(target, address.target);
    return target.problem(platform, address) ?? { target, platform };
  };

  return {
    problem(address) {
      const resolved = resolve(address);
      return typeof resolved === 'string' ? resolved : undefined;
    },

    stateOf(address, { open = false } = {}) {
      const target = findTarget(address.target, targets);
      if (!target) return { kind: 'unknown', reason: unknownTarget(address.target, targets) };
      const platform = platformOf(target);
      const flaw = open ? undefined : target.addressProblem(platform, address);
      if (flaw !== undefined) return { kind: 'wrong', reason: flaw };
      const isOff = !target.builtIn && !platform.enabled;
      const lack = isOff ? notEnabled(target, address.target) : target.problem(platform, open ? undefined : address);
      return lack === undefined ? { kind: 'ready' } : { kind: 'not_set_up', reason: lack };
    },

    async attempt(message, signal, onPart) {
      let { partsSent } = message;
      const resolved = resolve(message.address);
      if (typeof resolved === 'string') return { kind: 'refused', reason: resolved, partsSent };
      const { target, platform } = resolved;
      const hide = hiderOf(target);
      const parts = partsOf(message, target);
      if (typeof parts === 'string') return { kind: 'refused', reason: parts, partsSent };
      const receipts: string[] = [];
      const notes: string[] = [];
      for (const part of parts.slice(partsSent)) {
        if (signal.aborted) return { kind: 'failed', reason: 'stopped before it was sent', partsSent };
        const outcome = await sendPart(target, platform, message.address, part, toolsFor(signal));
        if (outcome.kind !== 'sent') {
          const reason = hide(`${formatAddress(message.address)}: ${outcome.reason}`);
          if (outcome.kind === 'markup_refused') return { kind: 'refused', reason, partsSent };
          return { ...outcome, reason, partsSent };
        }
        partsSent += 1;
        if (outcome.receipt) receipts.push(outcome.receipt);
        if (outcome.note) notes.push(hide(outcome.note));
        if (partsSent < parts.length) await onPart?.(partsSent);
      }
      return {
        kind: 'delivered',
        ...(receipts.length > 0 ? { receipt: hide(receipts.join(' ')) } : {}),
        ...(notes.length > 0 ? { note: notes.join(' ') } : {}),
      };
    },

    async check(target, signal, written = target.name) {
      const platform = platformOf(target);
      if (!target.builtIn && !platform.enabled) return { kind: 'refused', reason: notEnabled(target, written) };
      const hide = hiderOf(target);
      const outcome = await guarded(() => target.check(platform, toolsFor(signal)));
      return outcome.kind === 'sent' ? outcome : { ...outcome, reason: hide(outcome.reason) };
    },

    async close() {
      memory.clear();
      await http.close();
    },
  };
}

async function sendPart(
  target: Target,
  platform: PlatformConfig,
  address: Address,
  part: Part,
  tools: ConnectTools,
): Promise<SendOutcome> {
  const outcome = await guarded(() => target.send(platform, address, part, tools));
  if (outcome.kind !== 'markup_refused') return outcome;
  const unmarked: Part = { ...part, text: part.plain, marked: false };
  return guarded(() => target.send(platform, address, unmarked, tools));
}

/** A target that throws has a bug; the message must not be lost for it, and whether it went out nobody knows. */
async function guarded(act: () => Promise<SendOutcome>): Promise<SendOutcome> {
  try {
    return await act();
  } catch (error) {
    return { kind: 'unknown', reason: messageOf(error) };
  }
}

function partsOf(message: OutgoingMessage, target: Target): Part[] | string {
  const { text, id, source } = message;
  if (text.trim() === '' && !target.takesEmptyText) return `The text is empty; ${target.name} takes no empty message.`;
  const tooLong = `The text is too long for ${target.name}: more than ${MAX_PARTS} messages of ${target.limit.count} ${target.limit.unit}.`;
  if (countText(text, target.limit.unit) > target.limit.count * MAX_PARTS) return tooLong;
  const rendered = new Map<string, Pick<Part, 'text' | 'plain'>>();
  const render = (piece: string): Pick<Part, 'text' | 'plain'> => {
    const forms = rendered.get(piece) ?? {
      text: renderMarkdown(piece, target.markup),
      plain: renderMarkdown(piece, 'plain'),
    };
    rendered.set(piece, forms);
    return forms;
  };
  const pieces = splitMarkdown(text, target.limit, (piece) => Object.values(render(piece)));
  if (pieces.length > MAX_PARTS) return tooLong;
  return pieces.map((markdown, index) => ({
    ...render(markdown),
    markdown,
    marked: target.markup !== 'plain',
    key: pieces.length === 1 ? id : `${id}-${index + 1}`,
    source,
    index,
    count: pieces.length,
  }));
}

/** In the spelling of the user: the settings take either. */
const notEnabled = (target: Target, written: string): string =>
  `${written} is not enabled; set platforms.${target.platform ?? written}.enabled to true, or run svc platforms setup ${written}.`;

/** Takes the secrets of the platform out of a sentence, also where a URL encoded them or is itself the secret. */
function hiding(secrets: readonly string[]): (text: string) => string {
  const hidden = secrets
    .flatMap((secret) => [secret, ...(URL.parse(secret)?.searchParams.values() ?? [])])
    .flatMap((secret) => [secret, encodeURIComponent(secret)])
    .filter((secret) => secret.length >= 4);
  return (text) => hidden.reduce((clean, secret) => clean.replaceAll(secret, '***'), text);
}
