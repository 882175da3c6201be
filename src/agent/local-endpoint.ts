// Is a model server near? Near ones get patient clocks and are asked how they are. Names that say nothing by themselves
// are near when they resolve to local addresses only.

import { isIP } from 'node:net';
import { isLocalAddress } from '../core/ip-address.ts';

/** Resolves a name to its addresses; may reject. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

const LOCAL_SUFFIXES = ['.localhost', '.local', '.lan', '.internal', '.home.arpa'];
const LOOKUP_TIMEOUT_MS = 3000;

/** Decides by the text alone; undefined when only a resolver can tell. */
export function isLocalHost(host: string): boolean | undefined {
  const name = host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
  if (isIP(name.replace(/%.*$/, '')) !== 0) return isUnspecified(name) || isLocalAddress(name);
  if (!name.includes('.') || LOCAL_SUFFIXES.some((suffix) => name.endsWith(suffix))) return true;
  return undefined;
}

/** Never rejects; a name that cannot be resolved in time is not local. */
export async function isLocalEndpoint(url: string, lookup: Lookup = systemLookup): Promise<boolean> {
  const host = URL.parse(url)?.hostname;
  if (!host) return false;
  const known = isLocalHost(host);
  if (known !== undefined) return known;
  const late = Promise.withResolvers<readonly string[]>();
  const timer = setTimeout(() => late.resolve([]), LOOKUP_TIMEOUT_MS);
  try {
    const addresses = await Promise.race([lookup(host), late.promise]);
    return addresses.length > 0 && addresses.every(isLocalAddress);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}

/** `0.0.0.0` and `::` as a destination mean this machine. */
const isUnspecified = (address: string): boolean => address === '0.0.0.0' || /^[0:]+$/.test(address);

async function systemLookup(hostname: string): Promise<readonly string[]> {
  const { lookup } = await import('node:dns/promises');
  return (await lookup(hostname, { all: true })).map(({ address }) => address);
}
