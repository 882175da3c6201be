import assert from 'node:assert/strict';
import { text as readAll } from 'node:stream/consumers';
import { before, test } from 'node:test';
import { setDefaultCACertificates } from 'node:tls';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { type Certificate, makeCertificate, noCertificates } from '../../../test/support/localhost-certificate.ts';
import { attempt, openBench, testTarget } from '../target.contract.ts';
import { email } from './email.ts';

const PASSWORD = 'mail-password-0123';
const address = { target: 'email', chatId: 'ops@example.test' };
const skip = noCertificates;
let certificate: Certificate | undefined;

before(() => {
  if (skip) return;
  certificate = makeCertificate();
  setDefaultCACertificates([certificate.cert]);
});

testTarget(email, address);

interface Mailbox extends AsyncDisposable {
  port: number;
  mails: { from: string; to: string[]; user: string | undefined; secure: boolean; raw: string }[];
}

/** A real mail server that keeps what it gets; login and STARTTLS are required. */
async function openMailbox(options: SMTPServerOptions = {}): Promise<Mailbox> {
  const mails: Mailbox['mails'] = [];
  const server = new SMTPServer({
    ...certificate,
    authMethods: ['PLAIN'],
    onAuth: ({ username, password }, _session, done) =>
      password === PASSWORD ? done(null, { user: username ?? '' }) : done(new Error('535 Invalid login')),
    onData: (stream, session, done) => {
      void readAll(stream).then((raw) => {
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom ? mailFrom.address : '';
        mails.push({ from, to: rcptTo.map((to) => to.address), user: session.user, secure: session.secure, raw });
        done();
      });
    },
    ...options,
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const bound = server.server.address();
  return {
    port: typeof bound === 'object' && bound ? bound.port : 0,
    mails,
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => server.close(resolve));
    },
  };
}

const bench = (port: number, password = PASSWORD, host = 'localhost') =>
  openBench(
    { email: { enabled: true, token: password, extra: { host, port, from: 'Svc <svc@example.test>' } } },
    { timeoutMs: 5000 },
  );

test('email goes through a server with STARTTLS and login, with plain and HTML parts and thread headers', {
  skip,
}, async () => {
  await using mailbox = await openMailbox();
  await using room = await bench(mailbox.port);
  const outcome = await attempt(room.delivery, {
    address: { ...address, threadId: '<first@example.test>', extra: { subject: 'Grüße\r\nBcc: evil@example.test' } },
    text: '# Build\n\n**done** & dusted',
  });
  assert.deepEqual(outcome, { kind: 'delivered', receipt: '<dlv_0k3v9a7b2c000abcdefgh@example.test>' });
  const [mail] = mailbox.mails;
  assert.deepEqual(
    { from: mail?.from, to: mail?.to, user: mail?.user, secure: mail?.secure },
    { from: 'svc@example.test', to: ['ops@example.test'], user: 'svc@example.test', secure: true },
  );
  const raw = mail?.raw ?? '';
  assert.match(raw, /^Message-ID: <dlv_0k3v9a7b2c000abcdefgh@example\.test>/m);
  assert.match(raw, /^In-Reply-To: <first@example\.test>/m);
  assert.match(raw, /^References: <first@example\.test>/m);
  assert.doesNotMatch(raw, /^Bcc:/m);
  assert.match(raw, /Content-Type: text\/plain/);
  assert.match(raw, /Content-Type: text\/html/);
  assert.match(raw, /<strong>done<\/strong> &amp; dusted/);
});

test('email takes its subject from the first heading, else from the route or job', { skip }, async () => {
  await using mailbox = await openMailbox();
  await using room = await bench(mailbox.port);
  await attempt(room.delivery, { address, text: 'text\n\n## Weekly report\n' });
  await attempt(room.delivery, { address, text: 'text' });
  assert.match(mailbox.mails[0]?.raw ?? '', /^Subject: Weekly report$/m);
  assert.match(mailbox.mails[1]?.raw ?? '', /^Subject: nightly$/m);
});

test('email takes a wrong password and a refused recipient as final, a full mailbox as a reason to wait', {
  skip,
}, async () => {
  await using mailbox = await openMailbox();
  await using wrong = await bench(mailbox.port, 'wrong-password');
  const login = await attempt(wrong.delivery, { address, text: 'hi' });
  assert.ok(login.kind === 'refused', JSON.stringify(login));
  assert.doesNotMatch(login.reason, /wrong-password/);
  const answer = (code: number) =>
    openMailbox({
      onRcptTo: (_to, _session, done) => done(Object.assign(new Error('not now'), { responseCode: code })),
    });
  await using unknown = await answer(550);
  await using room = await bench(unknown.port);
  assert.equal((await attempt(room.delivery, { address, text: 'hi' })).kind, 'refused');
  await using full = await answer(452);
  await using patient = await bench(full.port);
  assert.equal((await attempt(patient.delivery, { address, text: 'hi' })).kind, 'failed');
});

test('email is never sent without encryption or to a server with a wrong certificate', { skip }, async () => {
  await using naked = await openMailbox({ hideSTARTTLS: true, disabledCommands: ['STARTTLS'] });
  await using room = await bench(naked.port);
  const outcome = await attempt(room.delivery, { address, text: 'hi' });
  assert.notEqual(outcome.kind, 'delivered');
  assert.equal(naked.mails.length, 0);
  const other = makeCertificate();
  await using impostor = await openMailbox({ key: other.key, cert: other.cert });
  await using second = await bench(impostor.port);
  const fooled = await attempt(second.delivery, { address, text: 'hi' });
  assert.ok(fooled.kind === 'failed', JSON.stringify(fooled));
  assert.match(fooled.reason, /certificate|self.signed/i);
  assert.equal(impostor.mails.length, 0);
});

test('email to a server that is not there can be tried again, and check logs in without sending', {
  skip,
}, async () => {
  await using mailbox = await openMailbox();
  await using room = await bench(mailbox.port);
  assert.deepEqual(await room.delivery.check(email, new AbortController().signal), {
    kind: 'sent',
    receipt: 'Svc <svc@example.test>',
  });
  assert.equal(mailbox.mails.length, 0);
  await mailbox[Symbol.asyncDispose]();
  assert.equal((await attempt(room.delivery, { address, text: 'hi' })).kind, 'failed');
});

test('email addresses that could reach more people are refused', async () => {
  await using room = await bench(25);
  for (const chatId of ['a@b.c,d@e.f', 'a@b.c\r\nRCPT TO:<x@y.z>', '<a@b.c>', 'nobody']) {
    assert.equal(typeof room.delivery.problem({ target: 'email', chatId }), 'string', chatId);
  }
});
