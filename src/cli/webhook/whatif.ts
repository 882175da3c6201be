// Tries a route on stored deliveries: which events it would take now, which prompt and address it would make of them.
// Nothing is queued, nothing is sent.

import { readFileSync } from 'node:fs';
import type { App } from '../../app.ts';
import { checkConfig } from '../../config/load.ts';
import { configInvalid } from '../../config/problem.ts';
import { type Address, formatAddress } from '../../core/address.ts';
import { messageOf, SvcError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { silentLog } from '../../core/log.ts';
import { platformDescriptions } from '../../delivery/platforms.ts';
import { listEvents, type StoredEvent } from '../../store/events.ts';
import { getRun } from '../../store/runs.ts';
import { readIfExists } from '../../system/files.ts';
import { eventType, takesEvent } from '../../webhooks/event.ts';
import { applyFilters } from '../../webhooks/filters.ts';
import { planRun } from '../../webhooks/plan-run.ts';
import type { Route } from '../../webhooks/route.ts';
import { openRoutes } from '../../webhooks/routes.ts';
import type { RequestHeaders } from '../../webhooks/schemes.ts';
import type { CliContext } from '../command.ts';
import { printDetails, printJson } from '../listing.ts';
import { wholeNumber } from '../numbers.ts';
import { withApp } from '../with-app.ts';
import { MAX_LISTED } from './events.ts';

type Verdict = 'accepted' | 'ignored' | 'filtered';

interface Trial {
  event: StoredEvent;
  before: Verdict;
  after: Verdict;
  reason?: string;
  /** What the run was asked, and what it would be asked; absent when it is the same or there is no run. */
  prompt?: { before: string; after: string };
  addresses?: { before: string; after: string };
  unresolved: string[];
  cut: string[];
}

export async function whatif(
  context: CliContext,
  name: string,
  options: { last: string; config?: string; json?: true },
): Promise<void> {
  const limit = wholeNumber(options.last, '--last', MAX_LISTED);
  const trials = await withApp(context, async (app) => {
    const route = await routeOf(app, name, options.config);
    const events = await (await app.store()).read(listEvents({ route: name, limit }));
    return Promise.all(events.map((event) => tryEvent(app, route, event)));
  });
  if (options.json) printJson(context, { route: name, events: trials.length, trials: trials.map(toWire) });
  else print(context, name, trials);
}

async function routeOf(app: App, name: string, file: string | undefined): Promise<Route> {
  const { config } = file === undefined ? await app.config() : await otherConfig(app, file);
  const route = openRoutes(config.platforms.webhook.extra, app.paths.subscriptions, silentLog).find(name);
  if (route !== undefined) return route;
  throw new SvcError('not_found', `There is no route ${name}${file === undefined ? '' : ` in ${file}`}.`, {
    help: '`svc webhook list` shows what there is.',
  });
}

async function otherConfig(app: App, file: string) {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new SvcError('usage', `${file} cannot be read: ${messageOf(error)}.`, { cause: error });
  }
  const options = { home: app.paths.home, env: app.env, platforms: platformDescriptions };
  const checked = checkConfig(text, await readIfExists(app.paths.env), options);
  if (checked.kind === 'invalid') throw configInvalid(checked.problems.map((problem) => ({ ...problem, file })));
  return checked.loaded;
}

async function tryEvent(app: App, route: Route, event: StoredEvent): Promise<Trial> {
  const payload: Json = JSON.parse(event.body);
  const headers: RequestHeaders = JSON.parse(event.headers);
  const before = event.verdict === 'ignored' || event.verdict === 'filtered' ? event.verdict : 'accepted';
  const { after, reason } = judge(route, event, payload, headers);
  const trial: Trial = { event, before, after, ...(reason === undefined ? {} : { reason }), unresolved: [], cut: [] };
  if (after !== 'accepted') return trial;
  const plan = planRun(route, payload);
  trial.unresolved = [...plan.prompt.unresolved.map((key) => `{${key}}`), ...plan.unresolvedExtra];
  trial.cut = [...plan.prompt.cut.map((key) => `{${key}}`), ...plan.cutExtra];
  const run = event.runId === undefined ? undefined : await (await app.store()).read(getRun({ id: event.runId }));
  if (run === undefined || run.source.kind !== 'webhook') return trial;
  if (run.prompt !== plan.prompt.text) trial.prompt = { before: run.prompt, after: plan.prompt.text };
  const addresses = { before: addressText(run.addresses), after: addressText(plan.addresses) };
  if (addresses.before !== addresses.after) trial.addresses = addresses;
  return trial;
}

function judge(
  route: Route,
  event: StoredEvent,
  payload: Json,
  headers: RequestHeaders,
): { after: Verdict; reason?: string } {
  // The name was found with the sender's scheme; only its other names are looked up again.
  const type = { ...eventType(undefined, headers, payload), name: event.event };
  if (!takesEvent(route.events, type)) return { after: 'ignored', reason: `${event.event} is not in events` };
  if (route.filters === undefined) return { after: 'accepted' };
  const verdict = applyFilters(route.filters, { payload, event: event.event, headers });
  return verdict.kind === 'passed' ? { after: 'accepted' } : { after: 'filtered', reason: verdict.reason };
}

const addressText = (addresses: readonly Address[]): string =>
  addresses
    .map(
      (address) => `${formatAddress(address)}${address.extra === undefined ? '' : ` ${JSON.stringify(address.extra)}`}`,
    )
    .join(', ');

function print(context: CliContext, name: string, trials: readonly Trial[]): void {
  const changed = trials.filter(isChanged);
  const taken = trials.filter((trial) => trial.after === 'accepted').length;
  context.stdout.write(
    `${trials.length} stored deliveries of ${name}: ${taken} would be accepted, ${changed.length} would change.\n`,
  );
  for (const { event, before, after, reason, prompt, addresses } of changed) {
    context.stdout.write('\n');
    printDetails(context, [
      ['event', `${event.id} ${event.event}`],
      ['verdict', before === after ? undefined : `${before} -> ${after}${reason === undefined ? '' : ` (${reason})`}`],
      ['prompt', prompt && lineChanges(prompt.before, prompt.after)],
      ['deliver', addresses && `${addresses.before} -> ${addresses.after}`],
    ]);
  }
  const never = neverResolved(trials);
  const cut = new Set(trials.flatMap((trial) => trial.cut));
  if (never.length > 0) context.stdout.write(`\nNever resolved: ${never.join(', ')}\n`);
  if (cut.size > 0) context.stdout.write(`\nCut because too long: ${[...cut].join(', ')}\n`);
}

const isChanged = (trial: Trial): boolean =>
  trial.before !== trial.after || trial.prompt !== undefined || trial.addresses !== undefined;

/** Placeholders that found nothing in any accepted delivery: most likely misspelt. */
function neverResolved(trials: readonly Trial[]): string[] {
  const accepted = trials.filter((trial) => trial.after === 'accepted');
  const all = new Set(accepted.flatMap((trial) => trial.unresolved));
  return [...all].filter((placeholder) => accepted.every((trial) => trial.unresolved.includes(placeholder)));
}

const MAX_LINES = 20;

/** The lines that differ between the common beginning and the common end. */
function lineChanges(before: string, after: string): string {
  const old = before.split('\n');
  const next = after.split('\n');
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) start++;
  let end = 0;
  while (end < old.length - start && end < next.length - start && old.at(-1 - end) === next.at(-1 - end)) end++;
  const removed = old.slice(start, old.length - end).map((line) => `- ${line}`);
  const added = next.slice(start, next.length - end).map((line) => `+ ${line}`);
  const lines = [...removed.slice(0, MAX_LINES), ...added.slice(0, MAX_LINES)];
  const hidden = removed.length + added.length - lines.length;
  return [...lines, ...(hidden > 0 ? [`(${hidden} more lines differ)`] : [])].join('\n');
}

const toWire = ({ event, before, after, reason, prompt, addresses, unresolved, cut }: Trial) => ({
  event_id: event.id,
  event: event.event,
  delivery_id: event.deliveryId,
  verdict: { before, after, reason: reason ?? null },
  prompt: prompt ?? null,
  deliver: addresses ?? null,
  unresolved,
  cut,
});
