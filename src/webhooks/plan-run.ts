// What a route makes of a payload: the prompt, where the answer goes, what runs after what. Pure, so that a changed
// route can be tried on stored events without anything happening.

import { type Address, addressWithExtra } from '../core/address.ts';
import type { Json } from '../core/json.ts';
import type { NewRun } from '../core/run.ts';
import type { Route } from './route.ts';
import { type Rendered, renderPayload, renderTemplate } from './template.ts';

export interface Plan {
  prompt: Rendered;
  addresses: Address[];
  /** Placeholders of `deliver_extra` that found nothing, as `key: {placeholder}`. */
  unresolvedExtra: string[];
  cutExtra: string[];
  serialKey: string | undefined;
}

export function planRun(route: Route, payload: Json): Plan {
  const prompt = route.prompt === undefined ? renderPayload(payload) : renderTemplate(route.prompt, payload);
  const extra: Record<string, string> = {};
  const unresolvedExtra: string[] = [];
  const cutExtra: string[] = [];
  for (const { key, value } of route.deliverExtra) {
    const rendered = renderTemplate(value, payload);
    extra[key] = rendered.text;
    for (const placeholder of rendered.unresolved) unresolvedExtra.push(`${key}: {${placeholder}}`);
    for (const placeholder of rendered.cut) cutExtra.push(`${key}: {${placeholder}}`);
  }
  const serialKey = route.serialKey && `${route.name} ${renderTemplate(route.serialKey, payload).text}`;
  const addresses = route.addresses.map((address) => addressWithExtra(address, extra));
  return { prompt, addresses, unresolvedExtra, cutExtra, serialKey };
}

/** The durable run of an accepted event. Everything that decides its powers comes from the route. */
export function runOf(route: Route, plan: Plan, ids: { run: string; event: string }, now: number): NewRun {
  return {
    id: ids.run,
    source: { kind: 'webhook', name: route.name, ref: ids.event },
    prompt: plan.prompt.text,
    settings: {
      skills: route.skills,
      toolsets: route.toolsets,
      untrusted: true,
      silentMarker: false,
      reportFailure: false,
      maxRetries: RETRIES,
      ...(route.prompt === undefined ? {} : { instructions: route.prompt.source }),
      ...(route.model === undefined ? {} : { model: route.model }),
      ...(route.timeoutMs === undefined ? {} : { timeoutMs: route.timeoutMs }),
    },
    addresses: plan.addresses,
    ...(route.concurrency === undefined ? {} : { limit: { key: `route ${route.name}`, max: route.concurrency } }),
    ...(plan.serialKey === undefined ? {} : { serialKey: plan.serialKey }),
    createdAt: now,
  };
}

/** Senders do not send again what was accepted, so a model server that is away for a while must not cost the event. */
const RETRIES = 3;
