// Sends what waits in the store: in order per chat, several chats at once, again after failures, and never forgets one.
// What a message becomes is decided in retry.ts and breaker.ts; this file only claims, sends, records and waits.

import { formatAddress } from '../core/address.ts';
import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { canonicalTarget } from '../core/names.ts';
import type { Clock } from '../core/time.ts';
import type { Deliverer, DeliveryOutcome } from '../delivery/deliver.ts';
import type { Delivery } from '../store/deliveries.ts';
import {
  type ClaimDeliveries,
  claimDeliveries,
  type EndedAttempt,
  endAttemptAndClaim,
  nextDue,
  pruneDeliveries,
  recordPart,
  renewDeliveries,
} from '../store/outbox.ts';
import type { Store } from '../store/store.ts';
import { admission, afterOutcome, type Breaker, closedBreaker } from './breaker.ts';
import { afterAttempt, afterInterruption } from './retry.ts';

export interface OutboxOptions {
  store: Store;
  deliverer: Deliverer;
  clock: Clock;
  log: Logger;
  /** Names this process in the rows it holds. */
  owner: string;
  /** Messages on their way at the same time. */
  concurrency: number;
  /** Ended messages that belong to no run are removed after this. */
  keepMs: number;
  leaseMs?: number;
  pollMs?: number;
}

export interface Outbox {
  /** Something was put into the store: look at once. */
  wake(): void;
  /** Takes no more messages, lets those on their way finish for a moment, then interrupts them. Loses none. */
  stop(signal?: AbortSignal): Promise<void>;
}

const LEASE_MS = 30_000;
// Other processes put messages into the same store and cannot wake this one.
const POLL_MS = 1_000;
const STOP_GRACE_MS = 3_000;
const PRUNE_EVERY_MS = 3_600_000;
const STORE_RETRY_MS = 500;

export function startOutbox(options: OutboxOptions): Outbox {
  const { store, deliverer, clock, log, owner, concurrency } = options;
  const leaseMs = options.leaseMs ?? LEASE_MS;
  const pollMs = options.pollMs ?? POLL_MS;
  const held = new Map<string, { delivery: Delivery; done: Promise<void> }>();
  const breakers = new Map<string, Breaker>();
  let stopping = false;
  /** Attempts under way; `held` also has those whose outcome is being recorded. */
  let active = 0;
  const interrupting = new AbortController();
  let alarm = new AbortController();

  const ring = (): void => alarm.abort();
  const breakerOf = (target: string): Breaker => breakers.get(target) ?? closedBreaker;

  const claimOf = (limit: number): ClaimDeliveries => {
    const now = clock.now();
    const admitted = (wanted: 'one' | 'none') =>
      [...breakers].filter(([, breaker]) => admission(breaker, now) === wanted).map(([target]) => target);
    return { owner, now, leaseMs, limit, resting: admitted('none'), probed: admitted('one') };
  };

  function begin(deliveries: readonly Delivery[], { probed }: ClaimDeliveries): void {
    for (const delivery of deliveries) {
      const target = canonicalTarget(delivery.address.target);
      if (probed.includes(target)) breakers.set(target, { ...breakerOf(target), probing: true });
      active += 1;
      held.set(delivery.id, { delivery, done: carry(delivery, target) });
    }
  }

  async function carry(delivery: Delivery, target: string): Promise<void> {
    const outcome = await attempt(delivery);
    const now = clock.now();
    const interrupted = interrupting.signal.aborted;
    const ended = (interrupted ? afterInterruption : afterAttempt)(delivery, outcome, now);
    if (!interrupted) remember(target, outcome, now);
    report(delivery, ended);
    await record(ended);
    active -= 1;
    // A message that was taken over and came back to this process is held anew under the same id.
    if (held.get(delivery.id)?.delivery === delivery) held.delete(delivery.id);
    ring();
  }

  async function attempt(delivery: Delivery): Promise<DeliveryOutcome> {
    const { id, fence, address, text, source } = delivery;
    let { partsSent } = delivery;
    try {
      return await deliverer.attempt({ id, address, text, source, partsSent }, interrupting.signal, async (sent) => {
        partsSent = sent;
        await store.write(recordPart({ id, fence, partsSent, leaseUntil: clock.now() + leaseMs }));
      });
    } catch (error) {
      // Recording a part failed: going on would send later parts that nobody could continue from.
      return { kind: 'unknown', reason: messageOf(error), partsSent };
    }
  }

  /** The outcome must reach the store: what is not recorded is sent again. The free place is filled on the same way. */
  async function record(ended: EndedAttempt): Promise<void> {
    for (;;) {
      try {
        const claim = claimOf(stopping ? 0 : 1);
        const { kept, deliveries } = await store.write(endAttemptAndClaim({ ended, claim }));
        if (!kept) log.warn('A message was taken over while it was being sent', { delivery: ended.id });
        begin(deliveries, claim);
        return;
      } catch (error) {
        log.error('Could not record how a delivery ended', { delivery: ended.id, error: messageOf(error) });
        if (interrupting.signal.aborted) return;
        await clock.sleep(STORE_RETRY_MS, interrupting.signal);
      }
    }
  }

  function remember(target: string, outcome: DeliveryOutcome, now: number): void {
    const before = breakerOf(target);
    const after = afterOutcome(before, outcome.kind, now);
    if (after === closedBreaker) breakers.delete(target);
    else breakers.set(target, after);
    if (after.restsUntil > before.restsUntil) {
      log.warn('A platform does not answer; its messages wait', { target, rests_ms: after.restsUntil - now });
    } else if (before.rests > 0 && after.rests === 0) log.info('A platform answers again', { target });
  }

  function report(delivery: Delivery, ended: EndedAttempt): void {
    const fields = { delivery: delivery.id, to: formatAddress(delivery.address), source: delivery.source };
    if (ended.state === 'delivered') log.info('Delivered', { ...fields, receipt: ended.receipt, note: ended.note });
    else if (ended.state === 'dead') log.error('Delivery failed for good', { ...fields, reason: ended.lastError });
    else {
      const retry_at = new Date(ended.nextAttemptAt ?? ended.at).toISOString();
      log.warn('Delivery failed, it will be tried again', { ...fields, reason: ended.lastError, retry_at });
    }
  }

  async function fill(): Promise<void> {
    const claim = claimOf(concurrency - active);
    begin(await store.write(claimDeliveries(claim)), claim);
  }

  async function work(): Promise<void> {
    let look = true;
    while (!stopping) {
      alarm = new AbortController();
      let waitMs = pollMs;
      try {
        const due = look || held.size > 0 ? clock.now() : await store.read(nextDue({}));
        if (active < concurrency && due !== undefined && due <= clock.now()) await fill();
        else if (due !== undefined) waitMs = Math.min(pollMs, Math.max(0, due - clock.now()));
      } catch (error) {
        log.error('Could not read the waiting messages', { error: messageOf(error) });
      }
      await clock.sleep(waitMs, alarm.signal);
      look = alarm.signal.aborted;
    }
  }

  async function repeat(everyMs: number, act: () => Promise<unknown>, what: string): Promise<void> {
    while (!interrupting.signal.aborted) {
      await clock.sleep(everyMs, interrupting.signal);
      if (interrupting.signal.aborted) return;
      await act().catch((error: unknown) => log.error(`Could not ${what}`, { error: messageOf(error) }));
    }
  }

  const renew = async (): Promise<void> => {
    if (held.size === 0) return;
    const rows = [...held.values()].map(({ delivery: { id, fence } }) => ({ id, fence }));
    await store.write(renewDeliveries({ held: rows, leaseUntil: clock.now() + leaseMs }));
  };
  const prune = () => store.write(pruneDeliveries({ before: clock.now() - options.keepMs }));

  const background = [
    work(),
    repeat(leaseMs / 3, renew, 'keep the messages on their way'),
    repeat(PRUNE_EVERY_MS, prune, 'remove old messages'),
  ];
  let stopped: Promise<void> | undefined;

  async function stop(signal?: AbortSignal): Promise<void> {
    stopping = true;
    ring();
    // A claim that was under way may still bring new ones.
    const all = async () => {
      while (held.size > 0) await Promise.all([...held.values()].map(({ done }) => done));
    };
    await Promise.race([all(), clock.sleep(STOP_GRACE_MS, signal)]);
    interrupting.abort();
    await Promise.all(background);
    await all();
  }

  return {
    wake: ring,
    stop: (signal) => {
      stopped ??= stop(signal);
      return stopped;
    },
  };
}
