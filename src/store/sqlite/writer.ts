// Group commit without a timer: whatever arrived while the thread committed is its next batch. Operations go to the thread
// at the end of each turn of the event loop, without waiting for its answers: neither side ever waits for the other. How
// much may be on its way is bounded, so that a slow disk is answered with "busy" instead of growing memory.

import { Worker } from 'node:worker_threads';
import { SvcError } from '../../core/errors.ts';
import type { Operation } from '../operation.ts';
import { type BatchResult, commitBatch, type ErrorData, errorData, thrownAgain } from './batch.ts';
import type { Database } from './database.ts';
import { sizeOf } from './size.ts';

const MAX_PENDING = 2048;
const MAX_PENDING_BYTES = 64 * 1024 * 1024;

export interface Writer {
  write<T>(operation: Operation<T>): Promise<T>;
  close(): Promise<void>;
}

interface Queued {
  operation: Operation<unknown>;
  bytes: number;
  resolve(value: unknown): void;
  reject(error: SvcError): void;
}

export interface WriterOptions {
  /** Called once when a disk error made the store useless; the process should end. */
  onFatal?: ((error: SvcError) => void) | undefined;
}

/** Writes on the calling thread: for commands that write once and end. */
export function inlineWriter(database: Database, options: WriterOptions): Writer {
  const stopped = stopping(options);
  return {
    write: async <T>(operation: Operation<T>): Promise<T> => {
      stopped.check();
      const { values, errors, fatal } = commitBatch(database, [operation]);
      if (fatal) stopped.stop(fatal);
      if (errors?.[0]) throw thrownAgain(errors[0]);
      return values[0] as T;
    },
    close: async () => {
      stopped.stop(CLOSED, 'quietly');
      database.close();
    },
  };
}

/** Writes in a thread of its own: for the gateway, whose event loop must not wait for the disk. */
export class ThreadedWriter implements Writer {
  readonly #worker: Worker;
  readonly #stopped: Stopping;
  readonly #exited: Promise<void>;
  /** Not sent yet. */
  #queue: Queued[] = [];
  /** Sent and not answered, oldest first. */
  #inFlight: Queued[] = [];
  #pendingBytes = 0;
  #flushPlanned = false;
  #closing: Promise<void> | undefined;
  #idle: (() => void) | undefined;

  constructor(file: string, options: WriterOptions) {
    this.#stopped = stopping(options);
    // The source runs as it is; the bundle puts the thread beside itself under the same name.
    const thread = new URL(
      import.meta.url.endsWith('.ts') ? './writer-thread.ts' : './writer-thread.cjs',
      import.meta.url,
    );
    this.#worker = new Worker(thread, { workerData: { file }, name: 'svc-store-writer' });
    this.#worker.on('message', (result: BatchResult) => this.#answer(result));
    this.#worker.on('error', (error) => this.#fail(threadError(error)));
    this.#exited = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.#fail(CLOSED, 'quietly');
        resolve();
      });
    });
    // A process with nothing left to do may end; it is held only while a commit is under way.
    this.#worker.unref();
  }

  write<T>(operation: Operation<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#stopped.check();
      if (this.#closing) throw thrownAgain(CLOSED);
      const bytes = sizeOf(operation.input);
      const pending = this.#queue.length + this.#inFlight.length;
      if (pending >= MAX_PENDING || this.#pendingBytes + bytes > MAX_PENDING_BYTES) throw queueFull();
      this.#queue.push({ operation, bytes, resolve: resolve as (value: unknown) => void, reject });
      this.#pendingBytes += bytes;
      this.#planFlush();
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#finish();
    return this.#closing;
  }

  async #finish(): Promise<void> {
    this.#worker.ref();
    if (this.#queue.length > 0 || this.#inFlight.length > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    this.#worker.postMessage('close');
    await this.#exited;
  }

  /** Waits for the end of the current turn, so that what arrived in one turn is sent together. */
  #planFlush(): void {
    if (this.#flushPlanned) return;
    this.#flushPlanned = true;
    setImmediate(() => {
      this.#flushPlanned = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#queue.length === 0) return;
    const sent = this.#queue;
    this.#queue = [];
    this.#inFlight.push(...sent);
    this.#worker.ref();
    this.#worker.postMessage({ operations: sent.map(({ operation }) => operation) });
  }

  #answer({ values, errors, fatal }: BatchResult): void {
    const answered = this.#inFlight.splice(0, values.length);
    answered.forEach((queued, index) => {
      this.#pendingBytes -= queued.bytes;
      const error = errors?.[index];
      if (error) queued.reject(thrownAgain(error));
      else queued.resolve(values[index]);
    });
    if (fatal) this.#fail(fatal);
    else if (this.#inFlight.length === 0 && this.#queue.length === 0) {
      if (!this.#closing) this.#worker.unref();
      this.#idle?.();
    }
  }

  #fail(error: ErrorData, how: 'aloud' | 'quietly' = 'aloud'): void {
    this.#stopped.stop(error, how);
    const lost = [...this.#inFlight, ...this.#queue];
    this.#inFlight = [];
    this.#queue = [];
    this.#pendingBytes = 0;
    for (const queued of lost) queued.reject(thrownAgain(error));
    this.#worker.unref();
    this.#idle?.();
  }
}

interface Stopping {
  /** Throws when the store has stopped. */
  check(): void;
  stop(error: ErrorData, how?: 'aloud' | 'quietly'): void;
}

function stopping({ onFatal }: WriterOptions): Stopping {
  let reason: ErrorData | undefined;
  return {
    check: () => {
      if (reason) throw thrownAgain(reason);
    },
    stop: (error, how = 'aloud') => {
      if (reason) return;
      reason = error;
      if (how === 'aloud') onFatal?.(thrownAgain(error));
    },
  };
}

const CLOSED: ErrorData = { code: 'store_unavailable', message: 'The store is closed.', help: 'Start svc again.' };

const threadError = (error: unknown): ErrorData =>
  errorData(
    new SvcError('store_unavailable', `The store's writer ended: ${error instanceof Error ? error.message : error}.`, {
      help: 'Start svc again; what was acknowledged is kept.',
    }),
  );

const queueFull = (): SvcError =>
  new SvcError('store_busy', 'Too much is waiting to be stored.', {
    help: 'Try again in a moment; if it stays so, the disk is too slow for the load.',
  });
