// What every store promises. An operation is data (a name and an input); its body is written once, as a generator of SQL
// steps, and both stores run that same body. See operation.ts for how to write one.

import type { Operation } from './operation.ts';

export interface Store {
  /**
   * Runs the operation in one transaction and resolves when it is durable (committed and synced).
   * Rejects with SvcError `store_busy` when the queue is full and `store_unavailable` when it could not be stored; then
   * nothing of it was kept. Operations queued together may share one commit; each succeeds or fails alone. Only when the
   * server or the writer is lost in the middle of a commit can nobody know: an operation that is written again after
   * `store_unavailable` must bear that it was kept after all.
   */
  write<T>(operation: Operation<T>): Promise<T>;
  /** Runs a reading operation on committed data. Never waits for writers. */
  read<T>(operation: Operation<T>): Promise<T>;
  /** Finishes what was queued, then closes. Calling it twice is fine. */
  close(): Promise<void>;
}
