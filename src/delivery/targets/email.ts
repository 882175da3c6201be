// Mail through any SMTP server. nodemailer speaks the protocol; this file maps its words to ours.

import type { SentMessageInfo, Transporter } from 'nodemailer';
import { z } from 'zod';
import { messageOf } from '../../core/errors.ts';
import type { SendOutcome } from '../outcome.ts';
import { type Connection, defineTarget } from '../target.ts';

const settings = z.object({
  host: z.string().min(1).describe('SMTP server.'),
  port: z.coerce.number().int().min(1).max(65535).describe('Its port.').default(587),
  tls: z
    .enum(['starttls', 'tls', 'none'])
    .describe('`starttls` on port 587, `tls` on port 465, `none` for a server on this machine.')
    .default('starttls'),
  user: z.string().min(1).describe('Login name; the sender address when absent.').optional(),
  from: z.string().min(3).describe('Sender, as address or as Name <address>.'),
});
type Settings = z.infer<typeof settings>;

const ADDRESS = /[^\s<>@]+@[^\s<>@]+/;

export const email = defineTarget({
  name: 'email',
  title: 'Email',
  token: { about: 'The password of the mailbox; absent for a server without login.', optional: true },
  settings,
  extra: z.object({
    subject: z.string().describe('Subject; the first heading or the route or job otherwise.').optional(),
    references: z.string().describe('Message ids of the conversation, for the thread.').optional(),
  }),
  chat: { about: 'a mail address', example: 'ops@example.org', pattern: /^[^\s@,;<>]+@[^\s@,;<>]+$/ },
  thread: { about: 'the message id that is answered', example: '<abc@example.org>' },
  env: {
    EMAIL_SMTP_HOST: 'extra.host',
    EMAIL_SMTP_PORT: 'extra.port',
    EMAIL_ADDRESS: 'extra.from',
    EMAIL_PASSWORD: 'token',
    EMAIL_HOME_ADDRESS: 'home_channel.chat_id',
  },
  limit: { count: 500_000, unit: 'bytes' },
  markup: 'html',
  takesEmptyText: true,
  async send(part, connection) {
    const { extra, chatId, threadId, settings: own } = connection;
    const domain = ADDRESS.exec(own.from)?.[0].split('@')[1] ?? 'localhost';
    return withTransport(connection, async (transport) => {
      const sent: SentMessageInfo = await transport.sendMail({
        from: own.from,
        to: chatId,
        subject: subjectOf(extra.subject, part.markdown, part.source),
        text: part.plain,
        html: part.text,
        // Stable over attempts, so that mailboxes that look at it show a repeated mail once.
        messageId: `<${part.key}@${domain}>`,
        ...(threadId ? { inReplyTo: threadId, references: extra.references ?? threadId } : {}),
        ...(!threadId && extra.references ? { references: extra.references } : {}),
      });
      return { kind: 'sent', receipt: String(sent.messageId) };
    });
  },
  check: (connection) =>
    withTransport(connection, async (transport) => {
      await transport.verify();
      return { kind: 'sent', receipt: connection.settings.from };
    }),
});

/** One connection per message: mail is rare, and an idle connection that the server closed costs a lost attempt. */
async function withTransport(
  { settings: own, token, timeoutMs, signal }: Connection<Settings, unknown>,
  use: (transport: Transporter) => Promise<SendOutcome>,
): Promise<SendOutcome> {
  const { createTransport } = await import('nodemailer');
  const transport = createTransport({
    host: own.host,
    port: own.port,
    secure: own.tls === 'tls',
    requireTLS: own.tls === 'starttls',
    ignoreTLS: own.tls === 'none',
    ...(token ? { auth: { user: own.user ?? ADDRESS.exec(own.from)?.[0] ?? own.from, pass: token } } : {}),
    connectionTimeout: Math.min(timeoutMs, 10_000),
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  let stop = (): void => {};
  const stopped = new Promise<SendOutcome>((resolve) => {
    stop = () => resolve({ kind: 'unknown', reason: `stopped while waiting for ${own.host}` });
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([use(transport).catch((error: unknown) => judgeError(own.host, error)), stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
    transport.close();
  }
}

function judgeError(host: string, error: unknown): SendOutcome {
  const field = (name: string): unknown => (error instanceof Object ? Reflect.get(error, name) : undefined);
  const code = String(field('code') ?? '');
  const status = Number(field('responseCode') ?? 0);
  const reason = `${host}: ${messageOf(error).replace(/\s+/g, ' ').slice(0, 300)}`;
  // Mail servers answer 4xx for "try again" and 5xx for "never", the other way round than HTTP.
  if (status >= 500) return { kind: 'refused', reason };
  if (status >= 400) return { kind: 'failed', reason };
  if (/^(EAUTH|EENVELOPE|EMESSAGE|ENOAUTH)$/.test(code)) return { kind: 'refused', reason };
  // Before the text is handed over nothing can have arrived.
  if (field('command') === 'CONN' || /^(ECONNECTION|EDNS|ETLS|ECONNREFUSED|ENOTFOUND)$/.test(code))
    return { kind: 'failed', reason };
  return { kind: 'unknown', reason };
}

const LONGEST_SUBJECT = 150;

function subjectOf(given: string | undefined, markdown: string, source: string): string {
  const heading = /^#{1,3}\s+(.+)$/m.exec(markdown)?.[1];
  return (given ?? heading ?? source).replace(/\s+/g, ' ').trim().slice(0, LONGEST_SUBJECT) || 'Message';
}
