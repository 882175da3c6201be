// What happens to an event that passed every check: a durable run, a direct delivery, or the start of a scheduled job.

import { messageOf } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import type { Logger } from '../core/log.ts';
import type { Clock, NewId } from '../core/time.ts';
import type { Deliverer, DeliveryOutcome } from '../delivery/deliver.ts';
import { type EventVerdict, settleEvent } from '../store/events.ts';
import type { Store } from '../store/store.ts';
import { type Plan, planRun, runOf } from './plan-run.ts';
import type { Acceptance, Received, Recorder } from './record.ts';
import type { Reply } from './reply.ts';
import type { Route } from './route.ts';

export interface Effects {
  deliverer: Deliverer;
  /**
   * Starts a scheduled job now. `ref` is stable for one event: starting twice with it starts once. `context` is text from
   * outside that the job's model gets to see, fenced. Never throws.
   */
  fireJob(job: string, cause: { ref: string; context?: string }): Promise<FiredJob>;
  /** Told after a run was queued, so that nobody has to wait for the next look into the queue. */
  runQueued(): void;
}

export type FiredJob = { kind: 'started'; runId?: string } | { kind: 'refused'; reason: string };

interface Context extends Effects {
  store: Pick<Store, 'write'>;
  clock: Clock;
  newId: NewId;
  log: Logger;
}

/** Senders give up after ten seconds; an answer they no longer hear makes them send again. */
const DIRECT_DEADLINE_MS = 8000;

export async function carryOut(
  received: Received,
  payload: Json,
  recorder: Recorder,
  context: Context,
): Promise<Reply> {
  const { route, delivery } = received;
  const eventId = context.newId('evt');
  const startsRun = !route.deliverOnly && route.cronJob === undefined;
  const plan = planRun(route, payload);
  const run = startsRun
    ? runOf(route, plan, { run: context.newId('run'), event: eventId }, received.receivedAt)
    : undefined;
  const acceptance = await recorder.accept(eventId, received, run ? 'accepted' : 'pending', run);
  if (acceptance.kind !== 'stored') return declined(acceptance, received, context.log);
  if (run) {
    context.runQueued();
    return accepted(received);
  }
  if (route.cronJob !== undefined) return startJob(route.cronJob, eventId, plan, received, context);
  const outcome = await deliverDirectly(route, eventId, plan, received.receivedAt, context);
  if (outcome.kind === 'delivered') {
    await settle(eventId, { verdict: 'delivered', release: false }, context);
    return { kind: 'delivered', route: route.name, target: route.deliver, deliveryId: delivery.id };
  }
  // A 502 asks the sender to try again, so the id is given back even when the message may have arrived: twice beats never.
  const verdict = outcome.kind === 'unknown' ? 'unknown' : 'failed';
  context.log.error('Direct delivery failed', { route: route.name, target: route.deliver, reason: outcome.reason });
  await settle(eventId, { verdict, reason: outcome.reason, release: true }, context);
  return { kind: 'delivery_failed', deliveryId: delivery.id };
}

const accepted = ({ route, event, delivery }: Received, cronJob?: string): Reply => ({
  kind: 'accepted',
  route: route.name,
  event,
  deliveryId: delivery.id,
  ...(cronJob === undefined ? {} : { cronJob }),
});

function declined(acceptance: Exclude<Acceptance, { kind: 'stored' }>, received: Received, log: Logger): Reply {
  const { route, delivery } = received;
  if (acceptance.kind === 'not_stored') return { kind: 'not_stored', retryAfterS: 5 };
  if (acceptance.kind === 'rate_limited')
    return { kind: 'rate_limited', retryAfterS: Math.ceil(acceptance.retryAfterMs / 1000) };
  if (!acceptance.sameBody)
    log.warn('delivery id reused with another body', { route: route.name, delivery_id: delivery.id });
  return { kind: 'duplicate', deliveryId: delivery.id };
}

async function startJob(
  job: string,
  eventId: string,
  plan: Plan,
  received: Received,
  context: Context,
): Promise<Reply> {
  // A job has its own prompt and its own tools: it sees the payload only when the route says what of it.
  const text = received.route.prompt === undefined ? {} : { context: plan.prompt.text };
  const fired = await context.fireJob(job, { ref: eventId, ...text });
  if (fired.kind === 'started') {
    const runId = fired.runId === undefined ? {} : { runId: fired.runId };
    await settle(eventId, { verdict: 'accepted', release: false, ...runId }, context);
    return accepted(received, job);
  }
  context.log.error('A job could not be started', { route: received.route.name, job, reason: fired.reason });
  await settle(eventId, { verdict: 'failed', reason: fired.reason, release: true }, context);
  return { kind: 'job_failed', deliveryId: received.delivery.id };
}

/** One attempt at every address of the route, all within the deadline. The first that fails decides. */
async function deliverDirectly(
  route: Route,
  eventId: string,
  plan: Plan,
  receivedAt: number,
  { deliverer, clock }: Context,
): Promise<DeliveryOutcome> {
  if (plan.unresolvedExtra.length > 0)
    return { kind: 'refused', reason: `the payload has no value for ${plan.unresolvedExtra.join(', ')}`, partsSent: 0 };
  const giveUp = new AbortController();
  const leftMs = Math.max(1, DIRECT_DEADLINE_MS - (clock.now() - receivedAt));
  const late = clock.sleep(leftMs, giveUp.signal).then((): DeliveryOutcome => {
    giveUp.abort();
    return { kind: 'unknown', reason: `no answer within ${DIRECT_DEADLINE_MS / 1000} s`, partsSent: 0 };
  });
  let outcome: DeliveryOutcome = { kind: 'refused', reason: 'the route names no target', partsSent: 0 };
  for (const [index, address] of plan.addresses.entries()) {
    const message = { id: `${eventId}-${index}`, address, text: plan.prompt.text, source: route.name, partsSent: 0 };
    // A target that was told to stop may still know more than "late", so it is heard first.
    outcome = await Promise.race([deliverer.attempt(message, giveUp.signal), late.then(soon)]);
    if (outcome.kind === 'delivered') continue;
    // A part has arrived: trying all of it again would repeat that part.
    if (index > 0) outcome = { kind: 'unknown', reason: `only partly delivered: ${outcome.reason}`, partsSent: 0 };
    break;
  }
  giveUp.abort();
  return outcome;
}

const soon = <T>(value: T): Promise<T> => new Promise((resolve) => setTimeout(resolve, 200, value));

async function settle(
  id: string,
  end: { verdict: EventVerdict; reason?: string; runId?: string; release: boolean },
  { store, log }: Context,
): Promise<void> {
  try {
    await store.write(settleEvent({ id, ...end }));
  } catch (error) {
    // It stays `pending` and becomes `unknown`: nothing wrong is remembered, only less.
    log.error('The end of a delivery could not be stored', { event_id: id, reason: messageOf(error) });
  }
}
