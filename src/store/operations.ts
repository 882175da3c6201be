// Every operation the stores can run, by name. An area adds its definitions here, one line each.

import { deliveryCounts, enqueueDelivery, getDelivery, listDeliveries } from './deliveries.ts';
import {
  acceptRows,
  getEvent,
  giveUpPending,
  listEvents,
  pruneEvents,
  recordEvent,
  replayEvent,
  settleEvent,
} from './events.ts';
import { dueAlarms, raiseAlarm } from './job-alarms.ts';
import { changeJob, createJob, findJob, jobNamesLike, listJobs, removeJob } from './jobs.ts';
import type { Operation, OperationDefinition, Steps } from './operation.ts';
import {
  claimDeliveries,
  dropDelivery,
  endAttempt,
  endAttemptAndClaim,
  nextDue,
  pruneDeliveries,
  recordPart,
  renewDeliveries,
  retryDelivery,
} from './outbox.ts';
import { claimOneRun, claimRun, failRun, recordStep, releaseRun, renewLease, storeAnswer } from './run-claims.ts';
import { cancelRun, enqueueRow, getRun, listRuns, pruneRuns, retryRun, runCounts, stepsOf } from './runs.ts';
import {
  appendToSession,
  deliverToSession,
  hasUnshown,
  keepSession,
  listSessions,
  readSession,
  takeUnshown,
} from './sessions.ts';
import { claimScripts, finishScript, renewScript, scriptWork } from './slot-scripts.ts';
import { dueJobs, fireSlot, nextWakeAt, pruneSlots, recordSlots, slotsAround, slotsOf } from './slots.ts';

const definitions: readonly OperationDefinition<never, unknown>[] = [
  claimDeliveries,
  deliveryCounts,
  dropDelivery,
  endAttempt,
  endAttemptAndClaim,
  enqueueDelivery,
  getDelivery,
  listDeliveries,
  nextDue,
  pruneDeliveries,
  recordPart,
  renewDeliveries,
  retryDelivery,
  acceptRows,
  getEvent,
  giveUpPending,
  listEvents,
  pruneEvents,
  recordEvent,
  replayEvent,
  settleEvent,
  changeJob,
  claimScripts,
  createJob,
  dueAlarms,
  dueJobs,
  findJob,
  finishScript,
  fireSlot,
  jobNamesLike,
  listJobs,
  nextWakeAt,
  pruneSlots,
  raiseAlarm,
  recordSlots,
  removeJob,
  renewScript,
  scriptWork,
  slotsAround,
  slotsOf,
  cancelRun,
  claimOneRun,
  claimRun,
  enqueueRow,
  failRun,
  getRun,
  listRuns,
  pruneRuns,
  recordStep,
  releaseRun,
  renewLease,
  retryRun,
  runCounts,
  stepsOf,
  storeAnswer,
  appendToSession,
  deliverToSession,
  hasUnshown,
  keepSession,
  listSessions,
  readSession,
  takeUnshown,
];

const bodies = new Map(definitions.map((definition) => [definition.operation, definition.body]));
if (bodies.size !== definitions.length) throw new Error('Two store operations have the same name.');

/** A fresh body for the operation. An operation that is not listed above is a mistake of the program. */
export function bodyOf<T>(operation: Operation<T>): Steps<T> {
  const body = bodies.get(operation.name);
  if (body === undefined) throw new Error(`The store operation ${operation.name} is not listed in operations.ts.`);
  return body(operation.input as never) as Steps<T>;
}
