// One claimed run from its claim to its end: heartbeat, time limit, recorded steps, and what is stored at the end.
// It never writes for a run it no longer holds: every write carries the fencing number of the claim.

import { messageOf, SvcError } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import type { Run } from '../core/run.ts';
import type { Step } from '../core/step.ts';
import type { Clock, NewId } from '../core/time.ts';
import type { Operation } from '../store/operation.ts';
import { failRun, recordStep, releaseRun, renewLease, storeAnswer } from '../store/run-claims.ts';
import { stepsOf } from '../store/runs.ts';
import type { Store } from '../store/store.ts';
import { retryDelayMs } from './retry.ts';

export type Execution =
  /** `silent` keeps the answer in the row and sends nothing. */
  | { kind: 'answer'; text: string; silent: boolean }
  | { kind: 'failed'; reason: string; transient: boolean }
  /** The signal aborted; the recorded steps are enough to go on. */
  | { kind: 'interrupted' };

export interface ExecutionContext {
  /** Steps recorded by earlier attempts, in order. */
  steps: readonly Step[];
  /** Resolves when the step is durable; rejects when the run is lost. To be called one after another. */
  record(step: Step): Promise<void>;
  signal: AbortSignal;
}

/** Carries out a run. A throw counts as a failure that is not tried again. */
export type Execute = (run: Run, context: ExecutionContext) => Promise<Execution>;

export interface AttemptDeps {
  store: Store;
  execute: Execute;
  clock: Clock;
  newId: NewId;
  log: Logger;
  leaseMs: number;
  /** Time limit of a run that sets none. */
  timeoutMs: number;
  /** Messages were stored that want to be sent. */
  onMessages(): void;
}

export interface Attempt {
  readonly runId: string;
  /** Settled when nothing of it is left; never rejects. */
  readonly done: Promise<void>;
  /** Ends it at the next boundary between steps, or a little later; the run goes back to the queue. */
  stop(): void;
  /** Gives the run back at once, whatever it is doing. */
  abandon(): Promise<void>;
}

type Interruption = 'lost' | 'cancelled' | 'timeout' | 'stopping';

/** A dead worker's run is taken over after this; a live one renews three times in it. */
export const LEASE_MS = 15_000;
/** A run whose workers keep dying is itself the likely cause. */
const MAX_TAKEOVERS = 5;
const STORE_RETRY_MS = 1000;
/** How long a tool that is under way may take to finish when the program stops. */
const TOOL_GRACE_MS = 4000;
/** An executor that does not end after its signal must not keep the place for ever. */
const ABORT_GRACE_MS = 5000;

export function startAttempt(run: Run, takeovers: number, deps: AttemptDeps): Attempt {
  const { store, clock, leaseMs } = deps;
  const log = deps.log.child({ run: run.id, attempt: run.attempt });
  const held = { runId: run.id, attempt: run.attempt };
  const controller = new AbortController();
  const ended = new AbortController();
  const openTools = new Set<string>();
  let why: Interruption | undefined;
  let stopping = false;
  let seq = 0;

  const interrupt = (reason: Interruption): void => {
    why ??= reason;
    controller.abort();
  };

  async function keepLease(): Promise<void> {
    for (let renewedAt = clock.monotonic(); !ended.signal.aborted; ) {
      await clock.sleep(leaseMs / 3, ended.signal);
      if (ended.signal.aborted) return;
      const askedAt = clock.monotonic();
      try {
        const renewal = await store.write(renewLease({ ...held, now: clock.now(), leaseMs }));
        if (renewal.kind === 'lost') return interrupt('lost');
        renewedAt = askedAt;
        if (renewal.cancelRequested) interrupt('cancelled');
      } catch (error) {
        log.warn('The lease of a run could not be renewed', { error: messageOf(error) });
        if (clock.monotonic() - renewedAt >= leaseMs) return interrupt('lost');
      }
    }
  }

  async function keepTime(): Promise<void> {
    const until = clock.monotonic() + (run.settings.timeoutMs ?? deps.timeoutMs);
    while (!ended.signal.aborted && clock.monotonic() < until) {
      await clock.sleep(until - clock.monotonic(), ended.signal);
    }
    if (!ended.signal.aborted) interrupt('timeout');
  }

  /** Rides out a busy or full disk for as long as the lease may last. */
  async function persist<T>(operation: Operation<T>): Promise<T> {
    for (const until = clock.monotonic() + leaseMs; ; ) {
      try {
        return await store.write(operation);
      } catch (error) {
        if (why === 'lost' || clock.monotonic() >= until) throw error;
        log.warn('A run could not be stored; it is tried again', { error: messageOf(error) });
        await clock.sleep(STORE_RETRY_MS);
      }
    }
  }

  async function record(step: Step): Promise<void> {
    seq += 1;
    if (!(await persist(recordStep({ ...held, seq, step, at: clock.now() })))) {
      interrupt('lost');
      throw new Error('Another worker holds this run.');
    }
    if (step.kind === 'tool_started') openTools.add(step.callId);
    if (step.kind === 'tool_result') openTools.delete(step.callId);
    if (stopping && openTools.size === 0) interrupt('stopping');
  }

  async function carryOut(): Promise<Execution> {
    const steps = await store.read(stepsOf({ id: run.id }));
    seq = steps.length;
    const giveUp = new Promise<Execution>((resolve) => {
      const later = async (): Promise<void> => {
        await clock.sleep(ABORT_GRACE_MS, ended.signal);
        resolve({ kind: 'interrupted' });
      };
      if (controller.signal.aborted) void later();
      else controller.signal.addEventListener('abort', () => void later(), { once: true });
    });
    return Promise.race([deps.execute(run, { steps, record, signal: controller.signal }), giveUp]);
  }

  const messageIds = (): string[] => run.addresses.map(() => deps.newId('dlv'));

  async function fail(reason: string, how: { transient?: boolean; report?: boolean } = {}): Promise<void> {
    const at = clock.now();
    const report = `The run failed: ${reason}\n\nDetails: \`svc runs show ${run.id}\``;
    const failed = await persist(
      failRun({
        ...held,
        error: reason,
        at,
        deliveryIds: messageIds(),
        ...(how.transient && { retryAt: at + retryDelayMs(run.retries) }),
        ...(how.report !== false && { report }),
      }),
    );
    if (failed?.state === 'queued') log.warn('The run failed and is tried again', { reason, at: failed.availableAt });
    else if (failed) log.error('The run failed', { reason });
    deps.onMessages();
  }

  async function settle(result: Execution): Promise<void> {
    if (why === 'lost') return log.warn('The run is now held by another worker');
    if (result.kind === 'answer') {
      const { text: answer, silent } = result;
      const input = { ...held, answer, silent, deliveryIds: messageIds(), at: clock.now() };
      const answered = await persist(storeAnswer(input));
      if (answered) log.info('The run has its answer', { state: answered.state });
      return deps.onMessages();
    }
    if (result.kind === 'failed') return fail(result.reason, { transient: result.transient });
    if (why === 'cancelled') return fail('Cancelled.', { report: false });
    if (why === 'timeout') {
      const limitMs = run.settings.timeoutMs ?? deps.timeoutMs;
      return fail(`It took longer than its time limit of ${Math.round(limitMs / 1000)} s.`);
    }
    await persist(releaseRun({ ...held, at: clock.now() }));
    log.info('The run was interrupted and waits to go on');
  }

  async function work(): Promise<void> {
    try {
      if (run.cancelRequested) return await fail('Cancelled.', { report: false });
      if (takeovers >= MAX_TAKEOVERS) return await fail(`The process that worked on it died ${takeovers} times.`);
      log.info('The run starts', { source: `${run.source.kind} ${run.source.name}` });
      const result = await carryOut().catch((error: unknown): Execution => {
        // An abort may surface as an exception; then the interruption is the truth. And what could not be stored is no
        // fault of the run: it goes on when the store does.
        if (why !== undefined || isStoreTrouble(error)) return { kind: 'interrupted' };
        return { kind: 'failed', reason: messageOf(error), transient: false };
      });
      await settle(result);
    } catch (error) {
      // Its lease runs out, and whoever takes it over goes on from what is stored.
      log.error('The end of a run could not be stored', { error: messageOf(error) });
    } finally {
      ended.abort();
    }
  }

  const done = Promise.all([work(), keepLease(), keepTime()]).then(() => {});
  return {
    runId: run.id,
    done,
    stop: () => {
      stopping = true;
      if (openTools.size === 0) return interrupt('stopping');
      void clock.sleep(TOOL_GRACE_MS, ended.signal).then(() => interrupt('stopping'));
    },
    abandon: async () => {
      interrupt('lost');
      await store.write(releaseRun({ ...held, at: clock.now() })).catch((error: unknown) => {
        log.warn('The run could not be given back; its lease will run out', { error: messageOf(error) });
      });
      ended.abort();
    },
  };
}

const isStoreTrouble = (error: unknown): boolean => error instanceof SvcError && error.code.startsWith('store_');
