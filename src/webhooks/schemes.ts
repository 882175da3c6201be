// The ways senders sign, as data: one row a scheme. signature.ts has the one verifier that reads them.

import { canonicalScheme, headerValue } from '../core/names.ts';

export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface Scheme {
  name: string;
  /** The header that holds the proof; the first scheme whose header is present decides. */
  header: string;
  /** Several proofs in one header, e.g. during the sender's key rotation. */
  separator?: ' ' | ',';
  proofs: readonly Proof[];
  /** What is signed, in order. `id` and `timestamp` stand for values of the request, anything else for itself. */
  signed: readonly string[];
  timestamp?: Timestamp;
  /** Where the sender names the delivery, the best name first; the contract's headers when absent. */
  idHeaders?: readonly string[];
  idField?: readonly string[];
  eventHeader?: string;
  eventField?: readonly string[];
  /** The sender proves the address first: a payload of this `type` is answered with its own `challenge`. */
  challengeType?: string;
}

export type Proof =
  | { prefix: string; algorithm: 'hmac-sha256'; encoding: 'hex' | 'base64' }
  | { prefix: string; algorithm: 'ed25519' }
  | { prefix: string; algorithm: 'equal' };

export type Timestamp =
  | { header: string; toleranceS: number }
  /** One of the entries of the proof header, by prefix. */
  | { entry: string; toleranceS: number }
  /** In the signed body, in milliseconds. */
  | { field: readonly string[]; toleranceS: number };

const BODY = ['body'];
const hexHmac: readonly Proof[] = [{ prefix: '', algorithm: 'hmac-sha256', encoding: 'hex' }];
const standardProofs: readonly Proof[] = [
  { prefix: 'v1,', algorithm: 'hmac-sha256', encoding: 'base64' },
  { prefix: 'v1a,', algorithm: 'ed25519' },
];
const standard = (family: string): Scheme => ({
  name: 'standard',
  header: `${family}-signature`,
  separator: ' ',
  proofs: standardProofs,
  signed: ['id', '.', 'timestamp', '.', 'body'],
  timestamp: { header: `${family}-timestamp`, toleranceS: 300 },
  idHeaders: [`${family}-id`],
  eventField: ['type'],
});
const gitea = (family: string): Scheme => ({
  name: 'gitea',
  header: `x-${family}-signature`,
  proofs: hexHmac,
  signed: BODY,
  idHeaders: [`x-${family}-delivery`],
  eventHeader: `x-${family}-event`,
});

export const SCHEMES: readonly Scheme[] = [
  {
    name: 'github',
    header: 'x-hub-signature-256',
    proofs: [{ prefix: 'sha256=', algorithm: 'hmac-sha256', encoding: 'hex' }],
    signed: BODY,
  },
  {
    name: 'gitlab',
    header: 'x-gitlab-token',
    proofs: [{ prefix: '', algorithm: 'equal' }],
    signed: [],
    idHeaders: ['x-github-delivery', 'x-request-id', 'idempotency-key'],
  },
  { name: 'generic', header: 'x-webhook-signature', proofs: hexHmac, signed: BODY },
  standard('webhook'),
  standard('svix'),
  {
    name: 'stripe',
    header: 'stripe-signature',
    separator: ',',
    proofs: [{ prefix: 'v1=', algorithm: 'hmac-sha256', encoding: 'hex' }],
    signed: ['timestamp', '.', 'body'],
    timestamp: { entry: 't=', toleranceS: 300 },
    idField: ['id'],
    eventField: ['type'],
  },
  {
    name: 'slack',
    header: 'x-slack-signature',
    proofs: [{ prefix: 'v0=', algorithm: 'hmac-sha256', encoding: 'hex' }],
    signed: ['v0:', 'timestamp', ':', 'body'],
    timestamp: { header: 'x-slack-request-timestamp', toleranceS: 300 },
    idField: ['event_id'],
    eventField: ['event', 'type'],
    challengeType: 'url_verification',
  },
  {
    name: 'linear',
    header: 'linear-signature',
    proofs: hexHmac,
    signed: BODY,
    timestamp: { field: ['webhookTimestamp'], toleranceS: 60 },
    idHeaders: ['linear-delivery'],
    eventHeader: 'linear-event',
  },
  {
    name: 'shopify',
    header: 'x-shopify-hmac-sha256',
    proofs: [{ prefix: '', algorithm: 'hmac-sha256', encoding: 'base64' }],
    signed: BODY,
    idHeaders: ['x-shopify-webhook-id'],
    eventHeader: 'x-shopify-topic',
  },
  {
    name: 'sentry',
    header: 'sentry-hook-signature',
    proofs: hexHmac,
    signed: BODY,
    idHeaders: ['request-id'],
    eventHeader: 'sentry-hook-resource',
  },
  {
    name: 'pagerduty',
    header: 'x-pagerduty-signature',
    separator: ',',
    proofs: [{ prefix: 'v1=', algorithm: 'hmac-sha256', encoding: 'hex' }],
    signed: BODY,
    idField: ['event', 'id'],
    eventField: ['event', 'event_type'],
  },
  gitea('gitea'),
  gitea('forgejo'),
  { name: 'grafana', header: 'x-grafana-alerting-signature', proofs: hexHmac, signed: BODY, eventField: ['status'] },
  { name: 'bearer', header: 'authorization', proofs: [{ prefix: 'Bearer ', algorithm: 'equal' }], signed: [] },
];

/** What `auto` looks for, in this order. Weaker or rarer proofs must be pinned with `scheme`. */
const AUTO = ['github', 'gitlab', 'generic', 'standard'];
/** The rows a route may be signed by. */
export const schemesNamed = (name: string): readonly Scheme[] =>
  name === 'auto' ? AUTO_SCHEMES : SCHEMES.filter((scheme) => scheme.name === canonicalScheme(name));

const AUTO_SCHEMES = AUTO.flatMap((name) => SCHEMES.filter((scheme) => scheme.name === name));

/** The scheme whose header the request carries. There is no falling back to another one when its proof is wrong. */
export const recognise = (schemes: readonly Scheme[], headers: RequestHeaders): Scheme | undefined =>
  schemes.find((scheme) => headerValue(headers, scheme.header) !== undefined);
