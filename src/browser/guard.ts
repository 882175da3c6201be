// Keeps a browser away from addresses that are not on the public internet: every request is paused, its host judged, and
// the request let go or failed. Redirects, frames and popups pass the same way. Not seen: WebSockets, and a name that
// resolves differently a moment later.

import { isIP } from 'node:net';
import { isPublicAddress } from '../core/ip-address.ts';
import type { Command } from './state.ts';

export type UrlVerdict = { kind: 'allowed' } | { kind: 'refused' } | { kind: 'look_up'; host: string };

/**
 * Whether it is an address of the web, or one of those that pages make themselves. Files of this machine, pages of the
 * browser and scripts are not, whoever asks for them.
 */
export function isWebAddress(text: string): boolean {
  const url = URL.parse(text);
  // `about:settings` would be a page of the browser.
  if (url?.protocol === 'about:') return /^(blank|srcdoc)$/.test(url.pathname);
  return url !== null && /^(https?|wss?|data|blob):$/.test(url.protocol);
}

/** What a task is told that asks for anything else. */
export const NOT_WEB = {
  message: 'The browser opens addresses of the web only, no files and no pages of its own.',
  help: 'Give an http or https address.',
} as const;

/** Judges an address as far as it can be done without asking a name server. */
export function judgeUrl(text: string): UrlVerdict {
  const url = URL.parse(text);
  if (url === null || !isWebAddress(text)) return { kind: 'refused' };
  if (/^(about|data|blob):$/.test(url.protocol)) return { kind: 'allowed' };
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
