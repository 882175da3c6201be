// Who may use a route without a secret: programs on this machine, and nothing that speaks for somebody else.
// A web page in the user's browser also connects from this machine; its headers give it away.

import type { RequestHeaders } from './schemes.ts';

/** Headers that a proxy adds: behind one, a loopback address says nothing about the client. */
const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'cf-connecting-ip', 'via'];

export function isLocalClient(address: string | undefined, headers: RequestHeaders): boolean {
  if (address === undefined || !isLoopbackHost(address.replace(/^::ffff:/i, ''))) return false;
  if (PROXY_HEADERS.some((name) => headers[name] !== undefined)) return false;
  const { host, origin } = headers;
  if (typeof host === 'string' && !isLoopbackHost(hostOf(`http://${host}`))) return false;
  if (typeof origin === 'string' && !isLoopbackHost(hostOf(origin))) return false;
  const site = headers['sec-fetch-site'];
  return site === undefined || site === 'none' || site === 'same-origin';
}

const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' ||
  host.endsWith('.localhost') ||
  /^127(\.\d{1,3}){3}$/.test(host) ||
  host === '::1' ||
  host === '[::1]';

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : '');
