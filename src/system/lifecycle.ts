// Parts are started in order and stopped in reverse. A part that fails to start stops those before it.

import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';

export interface Part {
  name: string;
  /** May take until `signal` aborts; then it must let go at once. */
  stop(signal: AbortSignal): Promise<void> | void;
}

export interface Lifecycle {
  /** Starts a part. When it throws, everything started before it is stopped and the error goes on. */
  start<T extends Omit<Part, 'name'>>(name: string, make: () => Promise<T> | T): Promise<T>;
  /** Stops all parts, newest first, within the deadline. Never throws; calling it twice waits for the same stop. */
  stop(deadlineMs: number): Promise<void>;
}

export function createLifecycle(log: Logger): Lifecycle {
  const parts: Part[] = [];
  let stopping: Promise<void> | undefined;
  let stopRequested = false;

  async function stopAll(deadlineMs: number): Promise<void> {
    const signal = AbortSignal.timeout(deadlineMs);
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      const { name, stop } = part;
      try {
        await Promise.race([stop(signal), gaveUp(signal)]);
        if (signal.aborted) log.warn('A part did not stop in time', { part: name });
        else log.debug('Stopped', { part: name });
      } catch (error) {
        log.error('A part failed to stop', { part: name, error: messageOf(error) });
      }
    }
  }

  const lifecycle: Lifecycle = {
    async start(name, make) {
      try {
        if (stopRequested) throw new Error(`${name} was not started because the program is stopping`);
        const part = await make();
        parts.push({ name, stop: (signal) => part.stop(signal) });
        log.debug('Started', { part: name });
        return part;
      } catch (error) {
        await lifecycle.stop(START_FAILED_DEADLINE_MS);
        throw error;
      }
    },
    stop(deadlineMs) {
      stopRequested = true;
      stopping ??= stopAll(deadlineMs);
      return stopping;
    },
  };
  return lifecycle;
}

const START_FAILED_DEADLINE_MS = 5000;

/** A short grace lets parts react to the same signal before they are left behind. */
const GRACE_MS = 500;

function gaveUp(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const later = (): void => void setTimeout(resolve, GRACE_MS).unref();
    if (signal.aborted) later();
    else signal.addEventListener('abort', later, { once: true });
  });
}
