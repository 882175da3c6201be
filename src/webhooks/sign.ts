// Signs a request the way its sender would, from the same rows that verify it: for `svc webhook test` and for tests.

import { type Scheme, schemesNamed } from './schemes.ts';
import { hmac, hmacKey, readSecret, signedContent } from './signature.ts';

export interface Unsigned {
  body: Buffer;
  deliveryId: string;
  event: string;
  sentAt: number;
}

/** The headers of a genuine request, or undefined when the secret can only verify (a public key). */
export function signedHeaders(
  schemeName: string,
  secret: string,
  request: Unsigned,
): Record<string, string> | undefined {
  const scheme = schemesNamed(schemeName)[0];
  if (!scheme) return undefined;
  const timestamp = String(Math.floor(request.sentAt / 1000));
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    [eventHeader(scheme, request.event)]: request.event,
    [scheme.idHeaders?.[0] ?? 'x-github-delivery']: request.deliveryId,
  };
  if (scheme.timestamp && 'header' in scheme.timestamp) headers[scheme.timestamp.header] = timestamp;
  const proof = proofText(scheme, secret, { headers, body: request.body }, timestamp);
  if (proof === undefined) return undefined;
  const entry = scheme.timestamp && 'entry' in scheme.timestamp ? `${scheme.timestamp.entry}${timestamp},` : '';
  return { ...headers, [scheme.header]: entry + proof };
}

/** A GitLab event is recognised by its name (`Push Hook`) where the scheme does not say. */
function eventHeader(scheme: Scheme, event: string): string {
  if (scheme.eventHeader !== undefined) return scheme.eventHeader;
  return scheme.name === 'gitlab' || event.endsWith(' Hook') ? 'x-gitlab-event' : 'x-github-event';
}

function proofText(
  scheme: Scheme,
  text: string,
  request: { headers: Record<string, string>; body: Buffer },
  timestamp: string,
): string | undefined {
  const proof = scheme.proofs[0];
  const secret = readSecret(text);
  const key = hmacKey(scheme, secret);
  if (!proof || !key) return undefined;
  if (proof.algorithm === 'equal') return proof.prefix + text;
  const content = signedContent(scheme, request, timestamp);
  if (!content || proof.algorithm !== 'hmac-sha256') return undefined;
  return proof.prefix + hmac(key, content).toString(proof.encoding);
}
