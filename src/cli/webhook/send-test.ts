// Sends one event the way a real sender would: signed, with an id, over HTTP; then follows it to its end.

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { App } from '../../app.ts';
import { messageOf, SvcError } from '../../core/errors.ts';
import { listEvents } from '../../store/events.ts';
import { type Scheme, schemesNamed } from '../../webhooks/schemes.ts';
import { signedHeaders } from '../../webhooks/sign.ts';
import { readSubscriptions, type SubscriptionRecord } from '../../webhooks/subscriptions.ts';
import type { CliContext } from '../command.ts';
import { findGateway } from '../find-gateway.ts';
import { printJson } from '../listing.ts';
import { readStandardInput } from '../standard-input.ts';
import { withApp } from '../with-app.ts';
import { findSubscription, secretsOf } from './list.ts';
import { outcomeToWire, printOutcome, type RunOutcome, waitForRun } from './outcome.ts';
import { peekRoute } from './settings.ts';

interface Options {
  payload?: string;
  event?: string;
  url?: string;
  wait: boolean;
  json?: true;
}

const TIMEOUT_MS = 15_000;

export async function sendTest(context: CliContext, name: string, options: Options): Promise<void> {
  await withApp(context, async (app) => {
    const record = subscriptionNamed(
      app,
      name,
      Object.keys((await app.config()).config.platforms.webhook.extra.routes),
    );
    const scheme = schemesNamed(typeof record.scheme === 'string' ? record.scheme : 'auto')[0];
    const event = options.event ?? peekRoute(name, record).events[0] ?? 'test';
    const text = options.payload === '-' ? await readStandardInput(context.stdin) : options.payload;
    const body = text ?? JSON.stringify(samplePayload(scheme, event, app.clock.now()));
    const deliveryId = `test-${randomUUID()}`;
    const url = `${options.url?.replace(/\/+$/, '') ?? gatewayUrlOf(app)}/webhooks/${name}`;
    const headers = headersFor(record, scheme, { body: Buffer.from(body), deliveryId, event, sentAt: app.clock.now() });
    const answer = await post(url, headers, body);
    if (!options.json) context.stdout.write(`POST ${url}\n${answer.status} ${answer.text}\n`);
    const outcome = options.wait && answer.status === 200 ? await follow(app, name, deliveryId) : undefined;
    if (options.json) {
      printJson(context, {
        url,
        status: answer.status,
        body: bodyOf(answer.text),
        run: outcome ? outcomeToWire(outcome) : null,
      });
    } else if (outcome) printOutcome(context, outcome);
    if (answer.status >= 400)
      throw new SvcError('invalid_input', `The gateway answered ${answer.status}.`, { help: nextStep(answer.status) });
    if (outcome && (outcome.run.state === 'failed' || outcome.run.state === 'dead'))
      throw new SvcError('delivery_failed', `The run ended as ${outcome.run.state}.`, {
        help: `\`svc runs show ${outcome.run.id}\` says why.`,
      });
  });
}

function subscriptionNamed(app: App, name: string, fixed: readonly string[]): SubscriptionRecord {
  const subscriptions = readSubscriptions(app.paths.subscriptions);
  if (fixed.includes(name)) {
    throw new SvcError('not_found', `${name} is a route of config.yaml; only subscriptions can be tested.`, {
      help: subscriptions.has(name)
        ? `The route hides the subscription of the same name: rename one of them.`
        : `Make one with \`svc webhook subscribe\`, or send a signed request with curl.`,
    });
  }
  return findSubscription(subscriptions, name);
}

/** What the log knows is not asked of the reader, and the other way round. */
function nextStep(status: number): string {
  if (status === 400) return 'The payload must be one JSON text, at most 64 levels deep.';
  if (status === 404) return 'That gateway does not have this route: `svc gateway status` shows which home it serves.';
  return '`svc gateway logs` says why.';
}

function headersFor(
  record: SubscriptionRecord,
  scheme: Scheme | undefined,
  unsigned: { body: Buffer; deliveryId: string; event: string; sentAt: number },
): Record<string, string> {
  const [secret] = secretsOf(record);
  // Without a secret of its own the record uses the global one, which may be known to the gateway only.
  const signed = secret === undefined ? undefined : signedHeaders(scheme?.name ?? 'auto', secret, unsigned);
  if (signed !== undefined) return signed;
  throw new SvcError(
    'invalid_input',
    'This subscription cannot be signed for: it has a public key or no secret of its own.',
    {
      help: 'Give it one with `svc webhook subscribe <name> --rotate-secret`.',
    },
  );
}

function samplePayload(scheme: Scheme | undefined, event: string, now: number): Record<string, unknown> {
  const payload: Record<string, unknown> = {
    event_type: event,
    test: true,
    message: 'This is a test event from svc webhook test.',
    sent_at: new Date(now).toISOString(),
  };
  if (scheme?.eventField) nest(payload, scheme.eventField, event);
  if (scheme?.timestamp && 'field' in scheme.timestamp) nest(payload, scheme.timestamp.field, now);
  return payload;
}

function nest(payload: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [key = '', ...rest] = path;
  if (rest.length === 0) payload[key] = value;
  else {
    const inner: Record<string, unknown> = {};
    payload[key] = inner;
    nest(inner, rest, value);
  }
}

function gatewayUrlOf(app: App): string {
  const running = findGateway(app.paths);
  if (running !== undefined) return running.url;
  throw new SvcError('gateway_not_running', 'The gateway is not running.', {
    help: 'Start it with `svc gateway`, or name another one with --url.',
  });
}

async function post(
  url: string,
  headers: Record<string, string>,
  body: string,
): Promise<{ status: number; text: string }> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    // Some schemes send the secret itself: it goes to the named address and nowhere else.
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    throw new SvcError('gateway_not_running', `${url} does not answer: ${messageOf(cause)}.`, {
      help: '`svc gateway status` shows whether it runs.',
      cause: error,
    });
  }
}

/** Undefined when the event started no run (ignored, duplicate, delivered directly). */
async function follow(app: App, route: string, deliveryId: string): Promise<RunOutcome | undefined> {
  const store = await app.store();
  for (let attempt = 0; attempt < 20; attempt++) {
    const [event] = await store.read(listEvents({ route, deliveryId, limit: 1 }));
    if (event !== undefined) return event.runId === undefined ? undefined : waitForRun(app, event.runId);
    // Events that start nothing are stored after their answer.
    await delay(50);
  }
  return undefined;
}

function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
