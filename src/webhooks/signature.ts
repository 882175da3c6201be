// A signature is checked here, on the raw bytes. There is one verifier; the schemes are rows of data in schemes.ts.
// Comparisons are constant in time, lengths and alphabets are checked before anything is decoded, nothing here throws.

import {
  createHmac,
  createPublicKey,
  createSecretKey,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
  verify,
} from 'node:crypto';
import { parseJson, valueAt } from '../core/json.ts';
import { headerValue } from '../core/names.ts';
import type { Proof, RequestHeaders, Scheme } from './schemes.ts';

/** A sender lists one proof per active key; more than this is noise that costs us hashes. */
const MAX_ENTRIES = 8;
const MAX_HEADER_LENGTH = 4096;

/** A secret in the forms that the schemes use. A public key is known to everyone, so it has no other form. */
export interface Secret {
  text: string;
  /** The text itself as a key. */
  key?: KeyObject;
  /** What `whsec_` encodes, for Standard Webhooks; any other text is its own key. */
  decodedKey?: KeyObject;
  publicKey?: KeyObject;
}

export function readSecret(text: string): Secret {
  if (text.startsWith('whpk_')) {
    const publicKey = ed25519Key(text);
    return publicKey ? { text, publicKey } : { text };
  }
  if (text.trim() === '') return { text };
  const key = createSecretKey(text, 'utf8');
  if (!text.startsWith('whsec_')) return { text, key, decodedKey: key };
  const encoded = text.slice('whsec_'.length);
  if (!/^[A-Za-z0-9+/]{4,}={0,2}$/.test(encoded)) return { text, key };
  return { text, key, decodedKey: createSecretKey(encoded, 'base64') };
}

export interface SignedRequest {
  headers: RequestHeaders;
  body: Buffer;
  receivedAt: number;
}

/** Undefined when the request is genuine, else why not, in words fit for a log. */
export function signatureProblem(
  scheme: Scheme,
  secrets: readonly Secret[],
  request: SignedRequest,
): string | undefined {
  const header = headerValue(request.headers, scheme.header);
  if (header === undefined) return 'no signature header';
  if (header.length > MAX_HEADER_LENGTH) return 'signature header too long';
  const entries = scheme.separator
    ? header.split(scheme.separator, 2 * MAX_ENTRIES).map((entry) => entry.trim())
    : [header];
  const timestamp = sentTimestamp(scheme, request.headers, entries);
  if (timestamp !== undefined && !isFresh(timestamp, request.receivedAt, scheme)) return 'timestamp outside the window';
  const content = signedContent(scheme, request, timestamp);
  if (content === undefined) return 'id or timestamp missing';
  if (!secrets.some((secret) => proves(scheme, entries, secret, content))) return 'no proof matches';
  return bodyIsFresh(scheme, request) ? undefined : 'timestamp in the body outside the window';
}

/** Why this text cannot be a secret of the schemes, or undefined. */
export function secretProblem(schemes: readonly Scheme[], text: string): string | undefined {
  const secret = readSecret(text);
  if (text.startsWith('whpk_')) {
    if (!schemes.some((scheme) => scheme.proofs.some((proof) => proof.algorithm === 'ed25519')))
      return 'a public key (whpk_) only works with the scheme `standard`';
    return secret.publicKey ? undefined : 'the public key after `whpk_` is not 32 bytes of base64';
  }
  if (!secret.key) return 'the secret is empty';
  return schemes.some((scheme) => hmacKey(scheme, secret)) ? undefined : 'what follows `whsec_` is not base64';
}

/** The key of an HMAC: Standard Webhooks decodes `whsec_`, everyone else takes the text as it stands. */
export const hmacKey = (scheme: Scheme, secret: Secret): KeyObject | undefined =>
  scheme.name === 'standard' ? secret.decodedKey : secret.key;

/** The bytes the proof is made over, or undefined when the request lacks a part of them. */
export function signedContent(
  scheme: Scheme,
  request: Pick<SignedRequest, 'headers' | 'body'>,
  timestamp: string | undefined,
): readonly (string | Buffer)[] | undefined {
  const parts: (string | Buffer)[] = [];
  for (const part of scheme.signed) {
    if (part === 'body') parts.push(request.body);
    else if (part === 'timestamp' || part === 'id') {
      const value = part === 'id' ? headerValue(request.headers, scheme.idHeaders?.[0] ?? '') : timestamp;
      if (!value) return undefined;
      parts.push(value);
    } else parts.push(part);
  }
  return parts;
}

function proves(
  scheme: Scheme,
  entries: readonly string[],
  secret: Secret,
  content: readonly (string | Buffer)[],
): boolean {
  let digest: Buffer | undefined;
  let matched = false;
  let tried = 0;
  for (const proof of scheme.proofs) {
    for (const entry of entries) {
      const claim = claimOf(entry, proof);
      if (claim === undefined || ++tried > MAX_ENTRIES) continue;
      if (proof.algorithm === 'equal') matched = equalTexts(claim, secret) || matched;
      else if (proof.algorithm === 'ed25519') matched = signedBy(secret, claim, content) || matched;
      else {
        const key = digest ? undefined : hmacKey(scheme, secret);
        if (key) digest = hmac(key, content);
        const claimed = decode(claim, proof.encoding, 32);
        if (digest && claimed) matched = timingSafeEqual(digest, claimed) || matched;
      }
    }
  }
  return matched;
}

/** The entry without its prefix. The word before a token is case-insensitive (RFC 9110), signature prefixes are not. */
function claimOf(entry: string, proof: Proof): string | undefined {
  const head = entry.slice(0, proof.prefix.length);
  const same = proof.algorithm === 'equal' ? head.toLowerCase() === proof.prefix.toLowerCase() : head === proof.prefix;
  return same ? entry.slice(proof.prefix.length) : undefined;
}

export function hmac(key: KeyObject, content: readonly (string | Buffer)[]): Buffer {
  const mac = createHmac('sha256', key);
  for (const part of content) mac.update(part);
  return mac.digest();
}

/** Node decodes leniently: it stops at the first foreign digit. Length and alphabet are checked here. */
function decode(text: string, encoding: 'hex' | 'base64', bytes: number): Buffer | undefined {
  const shape = encoding === 'hex' ? HEX : BASE64;
  const length = encoding === 'hex' ? bytes * 2 : Math.ceil(bytes / 3) * 4;
  if (text.length !== length || !shape.test(text)) return undefined;
  const decoded = Buffer.from(text, encoding);
  return decoded.length === bytes ? decoded : undefined;
}

const HEX = /^[0-9a-fA-F]+$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Both sides are hashed first, so that neither length nor a common beginning shows in the time it takes. */
const compareKey = createSecretKey(randomBytes(32));
function equalTexts(claim: string, secret: Secret): boolean {
  if (!secret.key) return false;
  // Node hands header bytes over as latin1; the secret was written in UTF-8.
  const claimed = hmac(compareKey, [Buffer.from(claim, 'latin1')]);
  return timingSafeEqual(claimed, hmac(compareKey, [secret.text]));
}

const ED25519_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

function ed25519Key(text: string): KeyObject | undefined {
  const raw = decode(text.slice('whpk_'.length), 'base64', 32);
  if (!raw) return undefined;
  try {
    return createPublicKey({ key: Buffer.concat([ED25519_PREFIX, raw]), format: 'der', type: 'spki' });
  } catch {
    // 32 bytes that are no point of the curve.
    return undefined;
  }
}

function signedBy(secret: Secret, claim: string, content: readonly (string | Buffer)[]): boolean {
  const signature = decode(claim, 'base64', 64);
  if (!secret.publicKey || !signature) return false;
  const bytes = Buffer.concat(content.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
  return verify(null, bytes, secret.publicKey, signature);
}

function sentTimestamp(scheme: Scheme, headers: RequestHeaders, entries: readonly string[]): string | undefined {
  const source = scheme.timestamp;
  if (!source || 'field' in source) return undefined;
  if ('header' in source) return headerValue(headers, source.header);
  const entry = entries.find((candidate) => candidate.startsWith(source.entry));
  return entry?.slice(source.entry.length);
}

function isFresh(timestamp: string, receivedAt: number, scheme: Scheme): boolean {
  if (!scheme.timestamp || !/^\d{1,12}$/.test(timestamp)) return false;
  return Math.abs(receivedAt / 1000 - Number(timestamp)) <= scheme.timestamp.toleranceS;
}

/** Looked at only after the proof: nobody else gets a body parsed. */
function bodyIsFresh(scheme: Scheme, request: SignedRequest): boolean {
  const source = scheme.timestamp;
  if (!source || !('field' in source)) return true;
  const parsed = parseJson(request.body.toString('utf8'));
  if (parsed.kind === 'invalid') return true; // Answered as broken JSON, which it is.
  const sentAt = valueAt(parsed.value, source.field);
  return typeof sentAt === 'number' && Math.abs(request.receivedAt - sentAt) <= source.toleranceS * 1000;
}
