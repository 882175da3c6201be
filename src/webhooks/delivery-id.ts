// What a delivery is called. The same name on the same route within the hour is the same delivery.

import { createHash } from 'node:crypto';
import { type Json, valueAt } from '../core/json.ts';
import { headerValue } from '../core/names.ts';
import type { RequestHeaders, Scheme } from './schemes.ts';

export interface DeliveryId {
  id: string;
  /** False for an id made up here: then every request is a delivery of its own. */
  given: boolean;
}

const CONTRACT_HEADERS = ['x-github-delivery', 'x-request-id'];
const MAX_LENGTH = 200;

/** Makes a reader of delivery ids. It remembers the last millisecond, so that made-up ids never meet. */
export function createDeliveryIds(): (
  scheme: Scheme | undefined,
  headers: RequestHeaders,
  payload: Json,
  now: number,
) => DeliveryId {
  let lastMs = 0;
  let sameMs = 0;
  return (scheme, headers, payload, now) => {
    const given =
      firstHeader(headers, scheme?.idHeaders) ?? idField(scheme, payload) ?? firstHeader(headers, CONTRACT_HEADERS);
    if (given !== undefined) return { id: bounded(given), given: true };
    sameMs = now > lastMs ? 0 : sameMs + 1;
    lastMs = Math.max(now, lastMs);
    return { id: sameMs === 0 ? String(lastMs) : `${lastMs}-${sameMs}`, given: false };
  };
}

function firstHeader(headers: RequestHeaders, names: readonly string[] | undefined): string | undefined {
  for (const name of names ?? []) {
    const value = headerValue(headers, name)?.trim();
    if (value) return value;
  }
  return undefined;
}

function idField(scheme: Scheme | undefined, payload: Json): string | undefined {
  const value = scheme?.idField && valueAt(payload, scheme.idField);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

const bounded = (id: string): string =>
  id.length <= MAX_LENGTH ? id : `sha256:${createHash('sha256').update(id).digest('hex')}`;
