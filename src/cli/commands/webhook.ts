// `svc webhook`: subscriptions, test events, and the deliveries that came in. Each subcommand loads its own part.

import type { Command } from 'commander';
import type { CliContext, CommandModule } from '../command.ts';
import { addExamples } from '../listing.ts';

export const webhook: CommandModule = {
  define(command, context) {
    command.description('Subscribe to webhooks, test them, and look at what came in.');
    addExamples(command, [
      'svc webhook subscribe hello --prompt "Summarise: {message}" --deliver local',
      'svc webhook test hello',
      'svc webhook events --route hello',
    ]);
    defineSubscribe(command.command('subscribe'), context);
    defineList(command.command('list'), context);
    defineShow(command.command('show'), context);
    defineRemove(command.command('remove'), context);
    defineTest(command.command('test'), context);
    defineEvents(command.command('events'), context);
    defineReplay(command.command('replay'), context);
    defineWhatif(command.command('whatif'), context);
  },
};

const collect = (value: string, earlier: string[]): string[] => [...earlier, value];

function defineSubscribe(command: Command, context: CliContext): void {
  command
    .description('Create a subscription, or change one: what is not named stays as it is, the secret too.')
    .argument('<name>', 'last part of its address: letters, digits, dots, dashes, underscores')
    .option('--events <list>', 'event types it takes, separated by commas; all when absent')
    .option('--prompt <template>', 'what the agent is asked, with {fields.of.the.payload}')
    .option('--skills <list>', 'skills for the agent, separated by commas')
    .option('--deliver <target>', 'where the answer goes, e.g. log, local, telegram')
    .option('--deliver-chat-id <id>', 'the chat there; the home channel when absent')
    .option('--deliver-thread-id <id>', 'the topic or thread in that chat')
    .option('--deliver-extra <key=value>', 'another key of the target, may be repeated', collect, [])
    .option('--deliver-only', 'no agent: the rendered prompt is the message')
    .option('--agent', 'takes --deliver-only back')
    .option('--description <text>', 'a note for people')
    .option('--scheme <name>', 'how the sender signs, when it is not recognised by itself (stripe, slack, ...)')
    .option('--secret-stdin', 'take the secret from standard input instead of making one')
    .option('--rotate-secret', 'make a new secret')
    .option('--keep-old-secret', 'with a new secret: the old one stays valid as well, until the next change of it')
    .option('--disable', 'answer 404 until --enable')
    .option('--enable', 'takes --disable back')
    .option('--json', 'print JSON');
  addExamples(command, [
    'svc webhook subscribe hello --prompt "Summarise: {message}" --deliver local',
    'svc webhook subscribe issues --events issues --prompt "{issue.title}" --deliver telegram --deliver-chat-id 12345',
    'svc webhook subscribe alerts --deliver-only --deliver ntfy --prompt "{alert.name} is {status}"',
    'svc webhook subscribe issues --rotate-secret --keep-old-secret',
  ]);
  command.action(async (name: string, options) =>
    (await import('../webhook/subscribe.ts')).subscribe(context, name, options),
  );
}

function defineList(command: Command, context: CliContext): void {
  command.description('List subscriptions and the routes of config.yaml.').option('--json', 'print JSON');
  addExamples(command, ['svc webhook list', 'svc webhook list --json']);
  command.action(async (options) => (await import('../webhook/list.ts')).list(context, options));
}

function defineShow(command: Command, context: CliContext): void {
  command
    .description('Show one subscription.')
    .argument('<name>', 'its name')
    .option('--reveal', 'print the secret instead of its fingerprint')
    .option('--json', 'print JSON');
  addExamples(command, ['svc webhook show hello', 'svc webhook show hello --reveal']);
  command.action(async (name: string, options) => (await import('../webhook/list.ts')).show(context, name, options));
}

function defineRemove(command: Command, context: CliContext): void {
  command.description('Delete a subscription.').argument('<name>', 'its name');
  addExamples(command, ['svc webhook remove hello']);
  command.action(async (name: string) => (await import('../webhook/list.ts')).remove(context, name));
}

function defineTest(command: Command, context: CliContext): void {
  command
    .description('Send a signed test event to a subscription and wait for what comes of it.')
    .argument('<name>', 'a subscription; routes of config.yaml are not read')
    .option('--payload <json>', 'the payload; `-` reads it from standard input')
    .option('--event <type>', 'the event type; the first that the subscription takes when absent')
    .option('--url <address>', 'the gateway; the one that runs for this home when absent')
    .option('--no-wait', 'do not wait for the run')
    .option('--json', 'print JSON');
  addExamples(command, ['svc webhook test hello', `svc webhook test hello --payload '{"message":"Hi"}' --no-wait`]);
  command.action(async (name: string, options) =>
    (await import('../webhook/send-test.ts')).sendTest(context, name, options),
  );
}

function defineEvents(command: Command, context: CliContext): void {
  command
    .description('List stored deliveries with what became of them, newest first; or show one with its payload.')
    .argument('[id]', 'a stored event')
    .option('--route <name>', 'only those of this route')
    .option('--delivery-id <id>', 'only those with this delivery id')
    .option('--limit <number>', 'how many at most', '50')
    .option('--json', 'print JSON');
  addExamples(command, [
    'svc webhook events',
    'svc webhook events --route hello --json',
    'svc webhook events evt_01jc…',
  ]);
  command.action(async (id: string | undefined, options) => {
    const { listStored, showStored } = await import('../webhook/events.ts');
    await (id === undefined ? listStored(context, options) : showStored(context, id, options));
  });
}

function defineReplay(command: Command, context: CliContext): void {
  command
    .description('Carry out a stored event once more, with the route as it is now.')
    .argument('<id>', 'a stored event')
    .option('--force', 'also when it was carried out already')
    .option('--no-wait', 'do not wait for the run')
    .option('--json', 'print JSON');
  addExamples(command, ['svc webhook replay evt_01jc…', 'svc webhook replay evt_01jc… --force --no-wait']);
  command.action(async (id: string, options) => (await import('../webhook/replay.ts')).replay(context, id, options));
}

function defineWhatif(command: Command, context: CliContext): void {
  command
    .description('Try a changed route on stored deliveries. Nothing is sent and no model is asked.')
    .argument('<route>', 'name of the route')
    .option('--last <number>', 'how many deliveries, newest first', '50')
    .option('--config <file>', 'a config.yaml with the changed route; the one in force when absent')
    .option('--json', 'print JSON');
  addExamples(command, [
    'svc webhook whatif issues --config config.new.yaml',
    'svc webhook whatif issues --last 500 --json',
  ]);
  command.action(async (route: string, options) =>
    (await import('../webhook/whatif.ts')).whatif(context, route, options),
  );
}
