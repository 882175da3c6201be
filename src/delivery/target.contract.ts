// What every target must do, run by each of them: `testTarget` for all, `testHttpTarget` against a double of the platform.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import {
  type DoubleReply,
  type HttpDouble,
  type SeenRequest,
  startHttpDouble,
} from '../../test/support/http-double.ts';
import { type Config, configSchema } from '../config/schema.ts';
import type { Address } from '../core/address.ts';
import { type Logger, silentLog } from '../core/log.ts';
import { spellingsOf } from '../core/names.ts';
import { createDelivery, type Delivery, type DeliveryOutcome } from './deliver.ts';
import { findTarget } from './registry.ts';
import { countText } from './split.ts';
import { platformKey, type Target } from './target.ts';

type PlatformInput = NonNullable<z.input<typeof configSchema>['platforms']>[string];

export interface Bench extends AsyncDisposable {
  delivery: Delivery;
  folder: string;
}

/** A delivery room with these platforms and nothing else, in a folder of its own. */
export async function openBench(
  platforms: Record<string, PlatformInput>,
  options: { timeoutMs?: number; allowPrivate?: boolean; log?: Logger; env?: Record<string, string | undefined> } = {},
): Promise<Bench> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-delivery-'));
  const config: Config = configSchema.parse({ platforms });
  const delivery = createDelivery({
    platforms: config.platforms,
    allowPrivate: options.allowPrivate ?? true,
    log: options.log ?? silentLog,
    now: () => Date.now(),
    deliveriesFolder: join(folder, 'deliveries'),
    env: options.env ?? {},
    timeoutMs: options.timeoutMs ?? 10_000,
  });
  return {
    delivery,
    folder,
    async [Symbol.asyncDispose]() {
      await delivery.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export interface Message {
  address: Address;
  text: string;
  partsSent?: number;
}

export function attempt(
  delivery: Delivery,
  message: Message,
  signal = new AbortController().signal,
): Promise<DeliveryOutcome> {
  return delivery.attempt({ id: 'dlv_0k3v9a7b2c000abcdefgh', source: 'nightly', partsSent: 0, ...message }, signal);
}

/** Rules about the description of a target, without any network. */
export function testTarget(target: Target, address: Address): void {
  test(`${target.name} is found under every spelling`, () => {
    for (const name of spellingsOf(target.name)) assert.equal(findTarget(name), target);
  });

  test(`${target.name} describes its settings so that they can be shown and checked`, () => {
    const schema = z.toJSONSchema(target.settings, { io: 'input' });
    for (const [key, value] of Object.entries(schema.properties ?? {})) {
      assert.equal(typeof (value as { description?: unknown }).description, 'string', key);
    }
    for (const path of Object.values(target.env)) {
      const key = path.startsWith('extra.') ? path.slice('extra.'.length) : undefined;
      assert.ok(
        key === undefined ? /^(token|home_channel\.(chat_id|thread_id))$/.test(path) : key in target.settings.shape,
        path,
      );
    }
    assert.ok(target.limit.count >= 1000);
  });

  if (target.builtIn) return;
  test(`${target.name} that is not enabled is refused with the next step`, async () => {
    await using bench = await openBench({});
    const reason = bench.delivery.problem(address) ?? '';
    assert.match(reason, /not enabled/);
    assert.match(reason, new RegExp(`platforms\\.${target.platform ?? address.target}\\.enabled`));
  });
}

export interface WireScenario {
  target: Target;
  /** Settings that reach the double. */
  platform(url: string): PlatformInput;
  address: Address;
  text: string;
  /** What must arrive. Functions check what cannot be written down. */
  request: {
    method: string;
    path: string | RegExp;
    headers?: Record<string, string | RegExp>;
    json?: unknown;
    check?(request: SeenRequest): void;
  };
  /** Access-token calls and the like, answered before anything else; they are not counted as messages. */
  before?: { path: RegExp; reply: DoubleReply }[];
  success: DoubleReply;
  receipt: string | undefined;
  refusal: { reply: DoubleReply; words: RegExp };
  rateLimit: { reply: DoubleReply; afterMs?: number };
  expired: { reply: DoubleReply; words: RegExp };
  /** Must never be shown. */
  secrets: string[];
  check?: { path: string | RegExp; reply: DoubleReply; who: string | undefined };
  /** The text of a message as it arrived, to check the splitting. */
  textOf(request: SeenRequest): string;
}

/** Rules about sending, against a double that speaks the platform's documented form. */
export function testHttpTarget(scenario: WireScenario): void {
  const { target, address, text, secrets } = scenario;
  const title = (rule: string) => `${target.name} ${rule}`;
  const open = (double: HttpDouble, options: { timeoutMs?: number } = {}) =>
    openBench({ [platformKey(target)]: scenario.platform(double.url) }, options);
  const answering = (reply: DoubleReply) =>
    startHttpDouble((request) => scenario.before?.find(({ path }) => path.test(request.path))?.reply ?? reply);
  const messagesOf = (double: HttpDouble) =>
    double.requests.filter((request) => !scenario.before?.some(({ path }) => path.test(request.path)));
  const outcomeOf = async (reply: DoubleReply, options: { timeoutMs?: number } = {}) => {
    await using double = await answering(reply);
    await using bench = await open(double, options);
    const outcome = await attempt(bench.delivery, { address, text });
    for (const secret of secrets) assert.ok(!JSON.stringify(outcome).includes(secret), 'a secret is shown');
    return outcome;
  };

  testTarget(target, address);

  test(title('sends the documented request and keeps the receipt'), async () => {
    await using double = await answering(scenario.success);
    await using bench = await open(double);
    const outcome = await attempt(bench.delivery, { address, text });
    assert.deepEqual(outcome, {
      kind: 'delivered',
      ...(scenario.receipt === undefined ? {} : { receipt: scenario.receipt }),
    });
    const [seen] = messagesOf(double);
    assert.ok(seen);
    assert.equal(seen.method, scenario.request.method);
    matches(seen.path, scenario.request.path);
    for (const [name, value] of Object.entries(scenario.request.headers ?? {}))
      matches(seen.headers[name] ?? '', value);
    if (scenario.request.json !== undefined) assert.deepEqual(seen.json, scenario.request.json);
    scenario.request.check?.(seen);
  });

  test(title('takes a refusal as final, with the words of the platform'), async () => {
    const outcome = await outcomeOf(scenario.refusal.reply);
    assert.ok(outcome.kind === 'refused', JSON.stringify(outcome));
    assert.match(outcome.reason, scenario.refusal.words);
  });

  test(title('waits as long as a rate limit asks'), async () => {
    const outcome = await outcomeOf(scenario.rateLimit.reply);
    assert.ok(outcome.kind === 'failed', JSON.stringify(outcome));
    assert.equal(outcome.afterMs, scenario.rateLimit.afterMs);
  });

  test(title('takes an ended token as final and does not show it'), async () => {
    const outcome = await outcomeOf(scenario.expired.reply);
    assert.ok(outcome.kind === 'refused', JSON.stringify(outcome));
    assert.match(outcome.reason, scenario.expired.words);
  });

  test(title('tries again after 500, 408 and a page of HTML, and never follows a redirect'), async () => {
    assert.equal((await outcomeOf({ status: 503, text: 'busy' })).kind, 'failed');
    assert.equal((await outcomeOf({ status: 408, json: {} })).kind, 'failed');
    const html = await outcomeOf({ status: 502, text: '<html>Bad gateway</html>' });
    assert.equal(html.kind, 'failed');
    await using private_ = await startHttpDouble(() => scenario.success);
    const redirected = await outcomeOf({ status: 302, headers: { location: `${private_.url}/x` }, json: {} });
    assert.ok(redirected.kind === 'refused');
    assert.match(redirected.reason, /redirect/);
    assert.equal(private_.requests.length, 0);
  });

  test(title('that never answers leaves the outcome open, one that cannot be reached does not'), async () => {
    const silent = await outcomeOf({ silent: true }, { timeoutMs: 150 });
    assert.equal(silent.kind, 'unknown');
    const double = await answering(scenario.success);
    await double[Symbol.asyncDispose]();
    await using bench = await open(double);
    const gone = await attempt(bench.delivery, { address, text });
    assert.ok(gone.kind === 'failed', JSON.stringify(gone));
    assert.match(gone.reason, /ECONNREFUSED/);
  });

  test(title('never shows a secret that the platform repeats'), async () => {
    const echo = `bad credentials ${secrets.join(' ')}`;
    const body = { description: echo, message: echo, error: echo, errmsg: echo, msg: echo };
    const outcome = await outcomeOf({ status: 400, json: body, text: echo });
    assert.notEqual(outcome.kind, 'delivered');
  });

  test(title('gets a long text in parts that fit, in order, and goes on where it stopped'), async () => {
    await using double = await answering(scenario.success);
    await using bench = await open(double);
    const lines = Array.from(
      { length: Math.ceil((target.limit.count * 2.5) / 40) },
      (_, index) => `line ${index} ${'x'.repeat(30)}`,
    );
    const long = lines.join('\n');
    const parts: number[] = [];
    const signal = new AbortController().signal;
    const message = { id: 'dlv_long', source: 'nightly', address, text: long, partsSent: 0 };
    const outcome = await bench.delivery.attempt(message, signal, async (sent) => void parts.push(sent));
    assert.equal(outcome.kind, 'delivered');
    const seen = messagesOf(double).map(scenario.textOf);
    assert.ok(seen.length >= 3);
    for (const part of seen) assert.ok(countText(part, target.limit.unit) <= target.limit.count);
    const numbers = [...seen.join('\n').matchAll(/line (\d+) /g)].map((match) => Number(match[1]));
    assert.deepEqual(
      numbers,
      lines.map((_, index) => index),
    );
    assert.deepEqual(
      parts,
      seen.slice(1).map((_, index) => index + 1),
    );
    await bench.delivery.attempt({ ...message, partsSent: seen.length - 1 }, signal);
    assert.equal(messagesOf(double).length, seen.length + 1);
    assert.equal(scenario.textOf(messagesOf(double).at(-1) as SeenRequest), seen.at(-1));
  });

  test(title('takes a megabyte in parts or refuses it with the reason'), async () => {
    await using double = await answering(scenario.success);
    await using bench = await open(double);
    const outcome = await attempt(bench.delivery, { address, text: 'four'.repeat(256 * 1024) });
    if (outcome.kind !== 'delivered') {
      assert.ok(outcome.kind === 'refused');
      assert.match(outcome.reason, /too long/);
      assert.equal(double.requests.length, 0);
    }
  });

  if (!target.takesEmptyText) {
    test(title('is never asked to send an empty text'), async () => {
      await using double = await answering(scenario.success);
      await using bench = await open(double);
      const outcome = await attempt(bench.delivery, { address, text: ' \n ' });
      assert.ok(outcome.kind === 'refused');
      assert.match(outcome.reason, /empty/);
      assert.equal(double.requests.length, 0);
    });
  }

  const { check } = scenario;
  if (check) {
    test(title('has a harmless call that proves the credentials'), async () => {
      await using double = await startHttpDouble(() => check.reply);
      await using bench = await open(double);
      const signal = new AbortController().signal;
      const outcome = await bench.delivery.check(target, signal);
      assert.deepEqual(outcome, { kind: 'sent', ...(check.who === undefined ? {} : { receipt: check.who }) });
      matches(double.requests[0]?.path ?? '', check.path);
    });
  }
}

function matches(actual: string, expected: string | RegExp): void {
  if (typeof expected === 'string') assert.equal(actual, expected);
  else assert.match(actual, expected);
}
