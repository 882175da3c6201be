// The thread that owns the writing connection. It commits the batches it is sent, one after another, and answers each.

import { parentPort, workerData } from 'node:worker_threads';
import type { Operation } from '../operation.ts';
import { commitBatch } from './batch.ts';
import { Database } from './database.ts';

const port = parentPort;
if (port === null) throw new Error('writer-thread.ts is started by writer.ts only.');

const { file } = workerData as { file: string };
const database = new Database(file, 'write');

port.on('message', (message: { operations: Operation<unknown>[] } | 'close') => {
  if (message === 'close') {
    database.close();
    port.close();
    return;
  }
  port.postMessage(commitBatch(database, message.operations));
});
