// The thread that owns the writing connection. Whatever has been sent while it committed is the next batch.

import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import type { Operation } from '../operation.ts';
import { commitBatch } from './batch.ts';
import { Database } from './database.ts';

const port = parentPort;
if (port === null) throw new Error('writer-thread.ts is started by writer.ts only.');

const { file } = workerData as { file: string };
const database = new Database(file, 'write');

type Request = { operations: Operation<unknown>[] } | 'close';
/** Longer batches would keep the first of them waiting for nothing. */
const MAX_BATCH = 256;

port.on('message', (first: Request) => {
  const operations: Operation<unknown>[] = [];
  let request: Request | undefined = first;
  while (request !== undefined && request !== 'close') {
    operations.push(...request.operations);
    request = operations.length < MAX_BATCH ? nextRequest() : undefined;
  }
  if (operations.length > 0) port.postMessage(commitBatch(database, operations));
  if (request === 'close') {
    database.close();
    port.close();
  }
});

/** What has arrived meanwhile, without waiting for it. */
function nextRequest(): Request | undefined {
  return port === null ? undefined : receiveMessageOnPort(port)?.message;
}
