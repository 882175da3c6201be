// `svc deliveries`: what was sent, what waits, what could not be delivered, and what a person can still do about it.

import type { Command } from 'commander';
import { formatAddress } from '../../core/address.ts';
import { SvcError } from '../../core/errors.ts';
import { canonicalTarget } from '../../core/names.ts';
import { nearest } from '../../core/nearest.ts';
import {
  DELIVERY_STATES,
  type Delivery,
  type DeliveryState,
  type DeliverySummary,
  getDelivery,
  listDeliveries,
} from '../../store/deliveries.ts';
import { dropDelivery, type PersonResult, retryDelivery } from '../../store/outbox.ts';
import type { CliContext, CommandModule } from '../command.ts';
import { addExamples, printDetails, printJson, printListing } from '../listing.ts';
import { wholeNumber } from '../numbers.ts';
import { withApp } from '../with-app.ts';

const MAX_LISTED = 1000;

export const deliveries: CommandModule = {
  define(command, context) {
    command.description('List, show, retry and drop outgoing messages. Those that could not be delivered are `dead`.');
    addExamples(command, [
      'svc deliveries list --state dead',
      'svc deliveries show <id>',
      'svc deliveries retry --dead',
    ]);
    defineList(command.command('list'), context);
    defineShow(command.command('show'), context);
    defineRetry(command.command('retry'), context);
    defineDrop(command.command('drop'), context);
  },
};

interface ListOptions {
  state?: string;
  target?: string;
  run?: string;
  limit: string;
  cursor?: string;
  json?: true;
}

function defineList(command: Command, context: CliContext): void {
  command
    .description('List outgoing messages, newest first.')
    .option('--state <state>', `only messages in this state: ${DELIVERY_STATES.join(', ')}`)
    .option('--target <name>', 'only messages to this target')
    .option('--run <id>', 'only messages of this run')
    .option('--limit <number>', `how many at most, up to ${MAX_LISTED}`, '50')
    .option('--cursor <id>', 'go on below this message')
    .option('--json', 'print JSON');
  addExamples(command, ['svc deliveries list', 'svc deliveries list --state dead --json']);
  command.action((options: ListOptions) =>
    withApp(context, async (app) => {
      const page = await (await app.store()).read(
        listDeliveries({
          limit: wholeNumber(options.limit, '--limit', MAX_LISTED),
          ...(options.state !== undefined && { state: stateOf(options.state) }),
          ...(options.target !== undefined && { target: canonicalTarget(options.target) }),
          ...(options.run !== undefined && { runId: options.run }),
          ...(options.cursor !== undefined && { cursor: options.cursor }),
        }),
      );
      printListing(context, page.deliveries, {
        json: options.json === true,
        columns: [
          { title: 'ID', value: ({ id }) => id },
          {
            title: 'STATE',
            value: (one) => (one.uncertain && one.state !== 'delivered' ? `${one.state}?` : one.state),
          },
          { title: 'TO', value: ({ address }) => formatAddress(address) },
          { title: 'FROM', value: ({ source }) => source },
          { title: 'CREATED', value: ({ createdAt }) => time(createdAt) },
          { title: 'TRIES', value: ({ attempts }) => attempts },
          { title: 'ERROR', value: ({ lastError }) => lastError },
        ],
        toJson: toWire,
        empty: 'No messages.',
      });
      if (page.next) context.stderr.write(`More: add --cursor ${page.next}\n`);
    }),
  );
}

function defineShow(command: Command, context: CliContext): void {
  command
    .description('Show one message with its text.')
    .argument('<id>', 'the id of the message')
    .option('--json', 'print JSON');
  addExamples(command, ['svc deliveries show dlv_01jc…']);
  command.action((id: string, { json }: { json?: true }) =>
    withApp(context, async (app) => {
      const delivery = await (await app.store()).read(getDelivery({ id }));
      if (!delivery) throw notFound(id);
      if (json) printJson(context, { ...toWire(delivery), text: delivery.text });
      else printDelivery(context, delivery);
    }),
  );
}

function defineRetry(command: Command, context: CliContext): void {
  command
    .description(
      'Send messages again that are dead or dropped, or at once when they wait. The running gateway does it.',
    )
    .argument('[ids...]', 'the ids of the messages')
    .option('--dead', 'all that are dead');
  addExamples(command, ['svc deliveries retry dlv_01jc…', 'svc deliveries retry --dead']);
  command.action((ids: string[], { dead }: { dead?: true }) =>
    withApp(context, async (app) => {
      const store = await app.store();
      const found = dead ? (await store.read(listDeliveries({ state: 'dead', limit: MAX_LISTED }))).deliveries : [];
      const chosen = [...ids, ...found.map(({ id }) => id)];
      if (chosen.length === 0 && !dead)
        throw new SvcError('usage', 'Name a message.', { help: 'Or send all dead ones again with --dead.' });
      for (const id of chosen)
        finish(id, await store.write(retryDelivery({ id, at: app.clock.now() })), 'be sent again');
      context.stdout.write(`${counted(chosen.length)} will be sent again.\n`);
    }),
  );
}

function defineDrop(command: Command, context: CliContext): void {
  command.description('Give messages up that wait or are dead.').argument('<ids...>', 'the ids of the messages');
  addExamples(command, ['svc deliveries drop dlv_01jc…']);
  command.action((ids: string[]) =>
    withApp(context, async (app) => {
      const store = await app.store();
      for (const id of ids) finish(id, await store.write(dropDelivery({ id, at: app.clock.now() })), 'be dropped');
      context.stdout.write(`${counted(ids.length)} dropped.\n`);
    }),
  );
}

function finish(id: string, result: PersonResult, what: string): void {
  if (result.kind === 'not_found') throw notFound(id);
  if (result.kind === 'wrong_state') {
    throw new SvcError('conflict', `${id} is ${result.state} and cannot ${what}.`, {
      help: 'Look at it with `svc deliveries show`.',
    });
  }
}

function printDelivery(context: CliContext, delivery: Delivery): void {
  const { address } = delivery;
  printDetails(context, [
    ['id', delivery.id],
    ['state', delivery.state],
    ['to', formatAddress(address)],
    ...Object.entries(address.extra ?? {}),
    ['from', delivery.source],
    ['run', delivery.runId],
    ['created', time(delivery.createdAt)],
    ['attempts', delivery.attempts],
    ['parts sent', delivery.partsSent || undefined],
    ['next attempt', delivery.state === 'waiting' ? time(delivery.nextAttemptAt) : undefined],
    ['ended', delivery.endedAt && time(delivery.endedAt)],
    ['uncertain', delivery.uncertain ? 'an attempt may have arrived without an answer' : undefined],
    ['receipt', delivery.receipt],
    ['note', delivery.note],
    ['last error', delivery.lastError],
    ['text', delivery.text],
  ]);
}

const toWire = (delivery: DeliverySummary) => ({
  id: delivery.id,
  state: delivery.state,
  to: formatAddress(delivery.address),
  extra: delivery.address.extra ?? {},
  source: delivery.source,
  run_id: delivery.runId ?? null,
  attempts: delivery.attempts,
  parts_sent: delivery.partsSent,
  uncertain: delivery.uncertain,
  created_at: time(delivery.createdAt),
  next_attempt_at: delivery.state === 'waiting' ? time(delivery.nextAttemptAt) : null,
  ended_at: delivery.endedAt === undefined ? null : time(delivery.endedAt),
  receipt: delivery.receipt ?? null,
  note: delivery.note ?? null,
  error: delivery.lastError ?? null,
});

function stateOf(text: string): DeliveryState {
  const state = DELIVERY_STATES.find((known) => known === text);
  if (state) return state;
  const meant = nearest(text, DELIVERY_STATES);
  throw new SvcError('usage', `There is no state "${text.slice(0, 40)}".`, {
    help: meant ? `Did you mean ${meant}?` : `States: ${DELIVERY_STATES.join(', ')}`,
  });
}

const time = (at: number): string => new Date(at).toISOString();
const counted = (count: number): string => (count === 1 ? '1 message' : `${count} messages`);
const notFound = (id: string): SvcError =>
  new SvcError('not_found', `There is no message ${id.slice(0, 60)}.`, {
    help: '`svc deliveries list` shows all of them.',
  });
