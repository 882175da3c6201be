import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHmac, generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { test } from 'node:test';
import { sign as octokitSign, verify as octokitVerify } from '@octokit/webhooks-methods';
import fc from 'fast-check';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Stripe } from 'stripe';
import { Webhook as SvixWebhook } from 'svix';
import { type RequestHeaders, recognise, SCHEMES, schemesNamed } from './schemes.ts';
import { signedHeaders } from './sign.ts';
import { readSecret, secretProblem, signatureProblem } from './signature.ts';

const NOW = Date.UTC(2026, 10, 15, 12);
const BODY = '{"type":"thing","text":"é ☃"}';
const WHSEC = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;

/** What the gateway does with a request: recognise the scheme, then verify. Undefined means genuine. */
function problem(
  scheme: string,
  secret: string | readonly string[],
  headers: RequestHeaders,
  body: string | Buffer = BODY,
  receivedAt = NOW,
): string | undefined {
  const found = recognise(schemesNamed(scheme), headers);
  if (!found) return 'not recognised';
  const secrets = (typeof secret === 'string' ? [secret] : secret).map(readSecret);
  return signatureProblem(found, secrets, { headers, body: Buffer.from(body), receivedAt });
}

test('what the row of a scheme signs, it verifies; any other body, secret or header does not pass', () => {
  const names = new Set(SCHEMES.map((scheme) => scheme.name));
  const body = JSON.stringify({ webhookTimestamp: NOW, a: 1 });
  for (const name of names) {
    const request = { body: Buffer.from(body), deliveryId: 'd', event: 'e', sentAt: NOW };
    const headers = signedHeaders(name, 'secret', request);
    assert.ok(headers, name);
    assert.equal(problem(name, 'secret', headers, body), undefined, name);
    assert.ok(problem(name, 'other', headers, body), `${name}: other secret`);
    assert.ok(problem(name, 'secret', {}, body), `${name}: no header`);
    const signsBody = schemesNamed(name).every((scheme) => scheme.signed.includes('body'));
    if (signsBody) assert.ok(problem(name, 'secret', headers, `${body} `), `${name}: other body`);
  }
});

test('GitHub: openssl on the command line and @octokit/webhooks-methods agree with us', async () => {
  const digest = execFileSync('openssl', ['dgst', '-sha256', '-hmac', 'secret', '-r'], { input: BODY })
    .toString()
    .split(' ')[0];
  assert.equal(problem('auto', 'secret', { 'x-hub-signature-256': `sha256=${digest}` }), undefined);
  assert.equal(problem('auto', 'secret', { 'x-webhook-signature': digest }), undefined);
  const signature = await octokitSign('secret', BODY);
  assert.equal(problem('auto', 'secret', { 'x-hub-signature-256': signature }), undefined);
  for (const wrong of [
    signature.slice(0, -1),
    `${signature.slice(0, -1)}g`,
    signature.replace('sha256', 'sha1'),
    `${signature}00`,
  ]) {
    assert.ok(problem('auto', 'secret', { 'x-hub-signature-256': wrong }), wrong);
    assert.equal(await octokitVerify('secret', BODY, wrong), false, wrong);
  }
  assert.equal(await octokitVerify('secret', `${BODY} `, signature), false);
  assert.ok(problem('auto', 'secret', { 'x-hub-signature-256': signature }, `${BODY} `));
});

test('Standard Webhooks and Svix: their libraries sign what we accept and refuse what we refuse', () => {
  const seconds = NOW / 1000;
  const theirs = [
    { prefix: 'webhook', hook: new StandardWebhook(WHSEC) },
    { prefix: 'svix', hook: new SvixWebhook(WHSEC) },
  ];
  for (const { prefix, hook } of theirs) {
    const signature = hook.sign('msg_1', new Date(NOW), BODY);
    const headers = {
      [`${prefix}-id`]: 'msg_1',
      [`${prefix}-timestamp`]: String(seconds),
      [`${prefix}-signature`]: signature,
    };
    const both = { ...headers, [`${prefix}-signature`]: `v1,${'A'.repeat(43)}= v2,x ${signature}` };
    assert.equal(problem('auto', WHSEC, headers), undefined, prefix);
    assert.equal(problem('standard', ['whsec_b3RoZXItb3RoZXItb3RoZXI=', WHSEC], both), undefined);
    const now = Date.now();
    const current = (change: Record<string, string>, at = now) => {
      const id = 'msg_1';
      const stamp = String(Math.floor(at / 1000));
      const proof = hook.sign(id, new Date(Math.floor(at / 1000) * 1000), BODY);
      return { [`${prefix}-id`]: id, [`${prefix}-timestamp`]: stamp, [`${prefix}-signature`]: proof, ...change };
    };
    assert.deepEqual(hook.verify(BODY, current({})), JSON.parse(BODY));
    assert.equal(problem('auto', WHSEC, current({}), BODY, now), undefined);
    for (const [what, change, at] of [
      ['another id', { [`${prefix}-id`]: 'msg_2' }],
      ['an empty id', { [`${prefix}-id`]: '' }],
      ['too old', {}, now - 301_000 - 1000],
      ['too new', {}, now + 301_000 + 1000],
      ['no version', { [`${prefix}-signature`]: 'AAAA' }],
      ['a hexadecimal timestamp', { [`${prefix}-timestamp`]: '0x10' }],
    ] as const) {
      const headersNow = current(change, at);
      assert.throws(() => hook.verify(BODY, headersNow), what);
      assert.ok(problem('auto', WHSEC, headersNow, BODY, now), what);
    }
  }
});

test('Standard Webhooks v1a: an Ed25519 public key verifies, and never works as an HMAC key or a token', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const secret = `whpk_${raw.toString('base64')}`;
  const content = `id.${NOW / 1000}.${BODY}`;
  const signature = signBytes(null, Buffer.from(content), privateKey).toString('base64');
  const base = { 'webhook-id': 'id', 'webhook-timestamp': String(NOW / 1000) };
  assert.equal(secretProblem(schemesNamed('standard'), secret), undefined);
  assert.equal(problem('standard', secret, { ...base, 'webhook-signature': `v1a,${signature}` }), undefined);
  assert.ok(problem('standard', secret, { ...base, 'webhook-id': 'x', 'webhook-signature': `v1a,${signature}` }));
  for (const key of [secret, raw, '']) {
    const forged = createHmac('sha256', key).update(content).digest('base64');
    assert.ok(problem('standard', secret, { ...base, 'webhook-signature': `v1,${forged}` }));
  }
  const forged = createHmac('sha256', secret).update(BODY).digest('hex');
  assert.ok(problem('auto', secret, { 'x-hub-signature-256': `sha256=${forged}` }));
  assert.ok(problem('auto', secret, { 'x-gitlab-token': secret }));
});

test('Stripe: its library signs what we accept and refuses what we refuse', () => {
  const { webhooks } = new Stripe('sk_test_x');
  const stamp = Math.floor(Date.now() / 1000);
  const header = (timestamp: number) =>
    webhooks.generateTestHeaderString({ payload: BODY, secret: 'whsec_abc', timestamp });
  const ours = (value: string, body = BODY) =>
    problem('stripe', 'whsec_abc', { 'stripe-signature': value }, body, stamp * 1000);
  assert.equal(ours(header(stamp)), undefined);
  assert.equal(ours(`${header(stamp)},v1=${'0'.repeat(64)},v0=${'0'.repeat(64)}`), undefined);
  for (const wrong of [
    header(stamp - 301),
    header(stamp).replace('v1=', 'v0='),
    header(stamp).replace(/t=\d+/, 't=abc'),
    't=1',
    '',
  ]) {
    assert.ok(ours(wrong), wrong);
    assert.throws(() => webhooks.constructEvent(BODY, wrong, 'whsec_abc'), wrong);
  }
  assert.ok(ours(header(stamp), `${BODY} `));
});

test('a timestamp is decimal seconds within 300 s of ours, on both sides', () => {
  const headersAt = (stamp: string) => {
    const proof = createHmac('sha256', 'secret').update(`v0:${stamp}:${BODY}`).digest('hex');
    return { 'x-slack-signature': `v0=${proof}`, 'x-slack-request-timestamp': stamp };
  };
  const seconds = NOW / 1000;
  for (const stamp of [seconds, seconds - 299, seconds + 299])
    assert.equal(problem('slack', 'secret', headersAt(String(stamp))), undefined, String(stamp));
  for (const stamp of [
    seconds - 301,
    seconds + 301,
    '0x10',
    '1e3',
    '-5',
    '',
    '12345678901234567890',
    `${seconds}.0`,
    ` ${seconds}`,
  ])
    assert.ok(problem('slack', 'secret', headersAt(String(stamp))), String(stamp));
});

test('Linear: the signed time in the body must be within a minute', () => {
  const at = (webhookTimestamp: unknown) => {
    const body = JSON.stringify({ webhookTimestamp });
    const headers = { 'linear-signature': createHmac('sha256', 'secret').update(body).digest('hex') };
    return problem('linear', 'secret', headers, body);
  };
  assert.equal(at(NOW - 59_000), undefined);
  for (const wrong of [NOW - 61_000, NOW + 61_000, String(NOW), null, undefined]) assert.ok(at(wrong), String(wrong));
});

test('malformed proofs are refused, never thrown at', () => {
  const names = SCHEMES.map((scheme) => scheme.name);
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.string({ unit: 'binary', maxLength: 300 }), (name, value) => {
      for (const { header } of schemesNamed(name)) {
        const headers = { [header]: value, 'webhook-id': 'x', 'webhook-timestamp': String(NOW / 1000) };
        const ours = problem(name, 'no-secret-generated-here-is-this', headers);
        assert.ok(ours, `${name} took ${JSON.stringify(value)}`);
      }
    }),
    { numRuns: 500 },
  );
  const right = createHmac('sha256', 'secret').update(BODY).digest('hex');
  for (const value of [
    'sha256=',
    right.slice(1),
    `${right}0`,
    'z'.repeat(64),
    Buffer.from(right, 'hex').toString('base64'),
    'a'.repeat(8192),
  ])
    assert.ok(problem('auto', 'secret', { 'x-hub-signature-256': `sha256=${value}` }), value.slice(0, 20));
});

test('any change of the body, even of white space, breaks every HMAC', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 200 }),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      (bytes, at, flip) => {
        const body = Buffer.from(bytes);
        const headers = { 'x-webhook-signature': createHmac('sha256', 'secret').update(body).digest('hex') };
        assert.equal(problem('auto', 'secret', headers, body), undefined);
        const other = Buffer.from(body);
        const index = at % other.length;
        other[index] = (other[index] ?? 0) ^ flip;
        assert.ok(problem('auto', 'secret', headers, other));
      },
    ),
  );
});

test('the first recognised header decides, in the order of the contract; rarer schemes must be pinned', () => {
  const token = { 'x-gitlab-token': 'secret' };
  const digest = createHmac('sha256', 'secret').update(BODY).digest('hex');
  assert.equal(problem('auto', 'secret', { ...token, 'x-webhook-signature': 'wrong' }), undefined);
  assert.ok(problem('auto', 'secret', { ...token, 'x-hub-signature-256': 'wrong' }));
  assert.ok(problem('auto', 'secret', { ...token, 'x-hub-signature-256': '' }));
  assert.equal(problem('auto', 'secret', { authorization: 'Bearer secret' }), 'not recognised');
  assert.equal(problem('bearer', 'secret', { authorization: 'bearer secret' }), undefined);
  assert.equal(problem('github', 'secret', token), 'not recognised');
  assert.equal(problem('shopify', 'secret', { 'x-webhook-signature': digest }), 'not recognised');
});

test('a token of other bytes, length or case is refused; one beyond ASCII works', () => {
  for (const value of ['', 's', 'secre', 'secrett', 'SECRET', 'secret '])
    assert.ok(problem('gitlab', 'secret', { 'x-gitlab-token': value }), value);
  const utf8AsLatin1 = Buffer.from('pässwört').toString('latin1');
  assert.equal(problem('gitlab', 'pässwört', { 'x-gitlab-token': utf8AsLatin1 }), undefined);
});

test('secrets that cannot work are told at start', () => {
  const auto = schemesNamed('auto');
  for (const secret of ['', '   ']) assert.match(secretProblem(auto, secret) ?? '', /empty/);
  assert.match(secretProblem(schemesNamed('github'), 'whpk_AAAA') ?? '', /standard/);
  assert.match(secretProblem(auto, 'whpk_AAAA') ?? '', /32 bytes/);
  assert.match(secretProblem(schemesNamed('standard'), 'whsec_!!') ?? '', /base64/);
  assert.equal(secretProblem(auto, 'whsec_!!'), undefined);
});

test('a wrong secret that shares its beginning with the right one is not refused more slowly than any other', () => {
  // A coarse guard against an early exit; the comparison itself is crypto.timingSafeEqual over hashes.
  const secret = 'k'.repeat(4000);
  const time = (value: string): bigint => {
    const start = process.hrtime.bigint();
    for (let count = 0; count < 300; count++) problem('gitlab', secret, { 'x-gitlab-token': value });
    return process.hrtime.bigint() - start;
  };
  const near = `${'k'.repeat(3999)}x`;
  const far = 'x'.repeat(4000);
  time(near);
  const rounds = Array.from({ length: 21 }, () => Number(time(near)) / Number(time(far))).toSorted((a, b) => a - b);
  assert.ok((rounds[10] ?? 9) < 3, `median ratio ${rounds[10]}`);
});
