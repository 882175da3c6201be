// send_message: one message to a configured target, while the task goes on.

import { z } from 'zod';
import { defineTool, type Tool } from '../agent/tool.ts';
import { type Address, formatAddress, parseAddresses } from '../core/address.ts';

export type Sent = { kind: 'sent'; note?: string } | { kind: 'queued' } | { kind: 'failed'; reason: string };

/** Sends or queues one message; never throws. `source` names the task it comes from. */
export type SendMessage = (message: {
  address: Address;
  text: string;
  source: string;
  signal: AbortSignal;
}) => Promise<Sent>;

export const createSendMessage = (send: SendMessage): Tool =>
  defineTool({
    name: 'send_message',
    description:
      'Sends a message to a chat, mail address or other configured target. Use it only when a message was asked for: ' +
      'the final answer of a task is delivered without it.',
    input: z.object({
      to: z.string().min(1).describe('target, target:chat or target:chat:thread, e.g. telegram or slack:C0123.'),
      text: z.string().min(1).max(100_000).describe('The message, in Markdown.'),
    }),
    toolsets: ['messaging', 'core'],
    untrusted: 'named',
    parallel: false,
    async run({ to, text }, context) {
      const parsed = parseAddresses(to);
      if (parsed.kind === 'invalid') return { output: parsed.reason, failed: true };
      const lines: string[] = [];
      let failed = false;
      for (const address of parsed.addresses) {
        const { signal } = context;
        const sent = await send({ address, text, source: context.taskId, signal });
        if (sent.kind === 'failed') failed = true;
        lines.push(lineOf(formatAddress(address), sent));
      }
      return { output: lines.join('\n'), ...(failed ? { failed } : {}) };
    },
  });

function lineOf(to: string, sent: Sent): string {
  switch (sent.kind) {
    case 'sent':
      return `Sent to ${to}.${sent.note ? ` ${sent.note}` : ''}`;
    case 'queued':
      return `Queued for ${to}; it is retried until it arrives.`;
    case 'failed':
      return `Not sent to ${to}: ${sent.reason}`;
  }
}
