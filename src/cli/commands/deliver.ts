// `svc deliver`: sends one message now, once, and says what the platform answered.

import { openApp } from '../../app.ts';
import { type Address, addressWithExtra, formatAddress, parseAddresses } from '../../core/address.ts';
import { SvcError } from '../../core/errors.ts';
import type { DeliveryOutcome } from '../../delivery/deliver.ts';
import { extraKeyProblems } from '../../delivery/extra-keys.ts';
import type { CliContext, CommandModule } from '../command.ts';
import { addExamples, printJson } from '../listing.ts';

const MAX_INPUT_BYTES = 4 * 1024 * 1024;

interface Options {
  extra: string[];
  json?: true;
}

export const deliver: CommandModule = {
  define(command, context) {
    command
      .description('Send one message now. It is tried once; nothing is queued.')
      .argument('<address>', 'target, target:chat or target:chat:thread; several separated by commas')
      .argument('[text]', 'the message in Markdown; - or nothing reads standard input')
      .option('--extra <key=value>', 'a further key of the target, e.g. subject=Hello; may be repeated', collect, [])
      .option('--json', 'print JSON');
    addExamples(command, [
      'svc deliver telegram "**Backup** is done"',
      'svc deliver matrix:!room:example.org -  < report.md',
      'svc deliver github_comment --extra repo=owner/name --extra pr_number=12 "Looks good"',
      'svc deliver telegram:-1001234567890:17,email:ops@example.org "Two at once"',
    ]);
    command.action((address: string, text: string | undefined, options: Options) =>
      send(address, text, options, context),
    );
  },
};

async function send(where: string, given: string | undefined, options: Options, context: CliContext): Promise<void> {
  const parsed = parseAddresses(where);
  if (parsed.kind === 'invalid')
    throw new SvcError('usage', parsed.reason, { help: '`svc platforms list` shows the targets.' });
  const extra = Object.fromEntries(options.extra.map(keyAndValue));
  const addresses = parsed.addresses.map((address) => addressWithExtra(address, extra));
  const [typo] = extraKeyProblems(parsed.addresses, Object.keys(extra));
  if (typo !== undefined) throw new SvcError('usage', typo.replace('deliver_extra', '--extra'));
  const app = openApp({ env: context.env });
  try {
    const delivery = await app.delivery();
    for (const address of addresses) {
      const problem = delivery.problem(address);
      if (problem) throw new SvcError('invalid_input', problem, { help: '`svc platforms list` shows what is set up.' });
    }
    const text = given === undefined || given === '-' ? await readInput(context.stdin) : given;
    const signal = new AbortController().signal;
    const outcomes: { address: Address; outcome: DeliveryOutcome }[] = [];
    for (const address of addresses) {
      const message = { id: app.newId('dlv'), address, text, source: 'svc deliver', partsSent: 0 };
      outcomes.push({ address, outcome: await delivery.attempt(message, signal) });
    }
    report(outcomes, options, context);
  } finally {
    await app.close();
  }
}

function report(sent: { address: Address; outcome: DeliveryOutcome }[], { json }: Options, context: CliContext): void {
  if (json) {
    printJson(
      context,
      sent.map(({ address, outcome }) => ({
        to: formatAddress(address),
        outcome: outcome.kind,
        ...(outcome.kind === 'delivered'
          ? { receipt: outcome.receipt ?? null, note: outcome.note ?? null }
          : { reason: outcome.reason, parts_sent: outcome.partsSent }),
      })),
    );
  } else {
    for (const { address, outcome } of sent) {
      if (outcome.kind !== 'delivered') continue;
      const details = [outcome.receipt, outcome.note].filter(Boolean).join(' ');
      context.stdout.write(`Sent to ${formatAddress(address)}${details ? ` (${details})` : ''}.\n`);
    }
  }
  const lost = sent.flatMap(({ outcome }) => (outcome.kind === 'delivered' ? [] : [outcome]));
  if (lost.length === 0) return;
  const open = lost.some(({ kind }) => kind === 'unknown');
  throw new SvcError('delivery_failed', lost.map(({ reason }) => reason).join('\n'), {
    help: open
      ? 'It may have arrived: look before you send it again.'
      : '`svc platforms check` shows whether the platform answers.',
  });
}

async function readInput(stdin: NodeJS.ReadStream): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk as Buffer | string);
    chunks.push(bytes);
    size += bytes.length;
    if (size > MAX_INPUT_BYTES)
      throw new SvcError('invalid_input', 'The text is larger than 4 MiB.', { help: 'Send a link to it instead.' });
  }
  return Buffer.concat(chunks).toString('utf8');
}

const collect = (value: string, earlier: string[]): string[] => [...earlier, value];

function keyAndValue(text: string): [string, string] {
  const equals = text.indexOf('=');
  if (equals > 0) return [text.slice(0, equals), text.slice(equals + 1)];
  throw new SvcError('usage', `--extra takes key=value, not "${text.slice(0, 40)}".`, {
    help: 'E.g. --extra subject=Hello',
  });
}
