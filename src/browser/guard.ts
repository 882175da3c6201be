// Keeps a browser away from addresses that are not on the public internet: every request is paused, its host judged, and
// the request let go or failed. Redirects, frames and popups pass the same way. Not seen: WebSockets, and a name that
// resolves differently a moment later.

import { isIP } from 'node:net';
import { isPublicAddress } from '../core/ip-address.ts';
import type { Command } from './state.ts';

export type UrlVerdict = { kind: 'allowed' } | { kind: 'refused' } | { kind: 'look_up'; host: string };

/** Judges an address as far as it can be done without asking a name server. */
export function judgeUrl(text: string): UrlVerdict {
  const url = URL.parse(text);
  if (url === null) return { kind: 'refused' };
  if (/^(about|data|blob):$/.test(url.protocol)) return { kind: 'allowed' };
  // Files, browser pages and everything else that is not the web.
  if (!/^(https?|wss?):$/.test(url.protocol)) return { kind: 'refused' };
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) return { kind: isPublicAddress(host) ? 'allowed' : 'refused' };
  return { kind: 'look_up', host };
}

/** One private address among public ones is how a rebinding name looks. */
export const areAllPublic = (addresses: readonly string[]): boolean =>
  addresses.length > 0 && addresses.every(isPublicAddress);

export function letGo(sessionId: string, requestId: string, allowed: boolean): Command {
  return allowed
    ? { kind: 'send', sessionId, method: 'Fetch.continueRequest', params: { requestId } }
    : { kind: 'send', sessionId, method: 'Fetch.failRequest', params: { requestId, errorReason: 'BlockedByClient' } };
}
