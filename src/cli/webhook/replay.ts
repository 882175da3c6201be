// Carries a stored event out once more, with the route as it is now: a new run, another direct delivery, the job again.

import type { App } from '../../app.ts';
import { SvcError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { silentLog } from '../../core/log.ts';
import { fireForEvent } from '../../job-parts.ts';
import { replayEvent, type StoredEvent, settleEvent } from '../../store/events.ts';
import { planRun, runOf } from '../../webhooks/plan-run.ts';
import type { Route } from '../../webhooks/route.ts';
import { openRoutes } from '../../webhooks/routes.ts';
import type { CliContext } from '../command.ts';
import { findGateway } from '../find-gateway.ts';
import { printJson } from '../listing.ts';
import { withApp } from '../with-app.ts';
import { findEvent } from './events.ts';
import { outcomeToWire, printOutcome, waitForRun } from './outcome.ts';

interface Options {
  force?: true;
  wait: boolean;
  json?: true;
}

const DIRECT_DEADLINE_MS = 30_000;

export async function replay(context: CliContext, id: string, options: Options): Promise<void> {
  await withApp(context, async (app) => {
    const event = await findEvent(app, id);
    if (!options.force) refuseIfDone(event);
    const { config } = await app.config();
    const route = openRoutes(config.platforms.webhook.extra, app.paths.subscriptions, silentLog).find(event.route);
    if (route === undefined)
      throw new SvcError('not_found', `The route ${event.route} is gone.`, { help: 'Make it again, then replay.' });
    const payload: Json = JSON.parse(event.body);
    const runId = route.deliverOnly
      ? await deliverAgain(app, route, event, payload)
      : await runAgain(app, route, event, payload);
    if (runId === undefined) {
      if (options.json) printJson(context, { event_id: event.id, verdict: 'delivered', run: null });
      else context.stdout.write(`${event.id} was delivered to ${route.deliver}.\n`);
      return;
    }
    const running = findGateway(app.paths) !== undefined;
    const outcome = options.wait && running ? await waitForRun(app, runId) : undefined;
    if (options.json) {
      printJson(context, {
        event_id: event.id,
        verdict: 'accepted',
        run: outcome ? outcomeToWire(outcome) : { id: runId },
      });
    } else if (outcome) printOutcome(context, outcome);
    else context.stdout.write(`${event.id} is queued again as ${runId}.\n`);
    if (!running) context.stderr.write('The gateway is not running; it takes the run up when it starts.\n');
  });
}

function refuseIfDone({ id, verdict, runState }: StoredEvent): void {
  const done = verdict === 'delivered' || (verdict === 'accepted' && runState !== 'failed' && runState !== 'dead');
  if (!done && verdict !== 'pending') return;
  const state = runState ?? verdict;
  throw new SvcError('conflict', `${id} was carried out already, or is about to be (${state}).`, {
    help: 'Add --force to do it once more.',
  });
}

async function runAgain(app: App, route: Route, event: StoredEvent, payload: Json): Promise<string> {
  const plan = planRun(route, payload);
  if (route.cronJob !== undefined) {
    const context = route.prompt === undefined ? {} : { context: plan.prompt.text };
    const fired = await fireForEvent(app, route.cronJob, { ref: `${event.id} ${app.newId('again')}`, ...context });
    if (fired.kind === 'refused' || fired.runId === undefined)
      throw new SvcError('conflict', fired.kind === 'refused' ? fired.reason : 'The job was not started.', {
        help: `\`svc cron why ${route.cronJob}\` says more.`,
      });
    return fired.runId;
  }
  const run = runOf(route, plan, { run: app.newId('run'), event: event.id }, app.clock.now());
  await (await app.store()).write(replayEvent({ eventId: event.id, run }));
  return run.id;
}

async function deliverAgain(app: App, route: Route, event: StoredEvent, payload: Json): Promise<undefined> {
  const plan = planRun(route, payload);
  const delivery = await app.delivery();
  const store = await app.store();
  for (const address of plan.addresses) {
    const message = { id: app.newId('again'), address, text: plan.prompt.text, source: route.name, partsSent: 0 };
    const outcome = await delivery.attempt(message, AbortSignal.timeout(DIRECT_DEADLINE_MS));
    if (outcome.kind !== 'delivered')
      throw new SvcError('delivery_failed', `${event.id} was not delivered to ${route.deliver}: ${outcome.reason}`, {
        help: `\`svc platforms list\` shows how ${address.target} is set up.`,
      });
  }
  await store.write(settleEvent({ id: event.id, verdict: 'delivered', reason: 'replayed', release: false }));
  return undefined;
}
