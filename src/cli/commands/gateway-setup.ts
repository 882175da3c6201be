// `svc gateway setup`: switches webhooks on, sets port, secret and public address. A conversation on a terminal, flags in
// scripts. Comments in config.yaml stay.

import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import type { App } from '../../app.ts';
import { SvcError } from '../../core/errors.ts';
import type { CliContext } from '../command.ts';
import { addExamples, printDetails } from '../listing.ts';

interface Options {
  enable?: true;
  disable?: true;
  port?: string;
  secret?: string;
  publicUrl?: string;
  yes?: true;
}

interface Answers {
  enabled: boolean;
  port: number;
  /** Undefined keeps the one that is there. */
  secret: string | undefined;
  publicUrl: string | undefined;
}

export function defineSetup(command: Command, context: CliContext): void {
  command
    .description('Set up webhooks: whether they are served, the port, the global secret, the public address.')
    .option('--enable', 'serve webhooks')
    .option('--disable', 'do not serve webhooks')
    .option('--port <number>', 'the port to listen on')
    .option(
      '--secret <text>',
      'secret of every route without one of its own; `-` reads it from standard input; written out, other users of ' +
        'this machine can see it in the process list while the command runs',
    )
    .option('--public-url <address>', 'how senders reach this gateway, for the printed addresses')
    .option('-y, --yes', 'ask nothing: take the flags, and defaults for the rest');
  addExamples(command, [
    'svc gateway setup',
    'svc gateway setup --enable --port 9000 --public-url https://hooks.example.org --yes',
    'svc gateway setup --enable --secret - --yes < secret.txt',
  ]);
  command.action((options: Options) => setUp(context, options));
}

async function setUp(context: CliContext, options: Options): Promise<void> {
  const { withApp } = await import('../with-app.ts');
  await withApp(context, async (app) => {
    await app.ensureHome();
    const flags = await readFlags(context, options);
    const { config } = await app.config();
    const { enabled, extra } = config.platforms.webhook;
    const now: Answers = { enabled, port: extra.port, secret: undefined, publicUrl: extra.public_url };
    const hasSecret = extra.secret !== undefined;
    const answers = options.yes
      ? { ...now, enabled: true, ...flags }
      : await ask(context, { ...now, ...flags }, hasSecret);
    if (answers === undefined) return;
    const generated = answers.enabled && answers.secret === undefined && !hasSecret ? newSecret() : undefined;
    await save(app, { ...answers, secret: answers.secret ?? generated });
    printDetails(context, [
      ['webhooks', answers.enabled ? 'on' : 'off'],
      ['port', answers.port],
      ['secret', generated ?? (answers.secret === undefined && !hasSecret ? 'none' : 'as set')],
      ['public URL', answers.publicUrl],
      ['settings', app.paths.config],
    ]);
    context.stderr.write('Start the gateway with `svc gateway`; a running one needs `svc gateway restart`.\n');
  });
}

const newSecret = (): string => randomBytes(32).toString('base64url');

async function readFlags(context: CliContext, options: Options): Promise<Partial<Answers>> {
  const flags: Partial<Answers> = {};
  if (options.enable && options.disable) throw new SvcError('usage', '--enable and --disable exclude each other.');
  if (options.enable || options.disable) flags.enabled = options.enable === true;
  if (options.port !== undefined) {
    const problem = portProblem(options.port);
    if (problem !== undefined) throw new SvcError('usage', `--port: ${problem}`);
    flags.port = Number(options.port);
  }
  if (options.publicUrl !== undefined) {
    const problem = urlProblem(options.publicUrl);
    if (problem !== undefined) throw new SvcError('usage', `--public-url: ${problem}`);
    flags.publicUrl = options.publicUrl;
  }
  if (options.secret !== undefined) {
    const { readStandardInput } = await import('../standard-input.ts');
    flags.secret = (options.secret === '-' ? await readStandardInput(context.stdin) : options.secret).trim();
    if (flags.secret === '')
      throw new SvcError('usage', '--secret is empty.', { help: 'Leave it out to have one made.' });
  }
  return flags;
}

/** Undefined when the person left. */
async function ask(context: CliContext, known: Answers, hasSecret: boolean): Promise<Answers | undefined> {
  if (!context.stdin.isTTY) {
    throw new SvcError('usage', 'There is no terminal to ask on.', {
      help: 'Add --yes, with --enable, --port, --secret or --public-url as needed.',
    });
  }
  const ui = await import('@clack/prompts');
  ui.intro('Webhooks');
  const enabled = await ui.confirm({ message: 'Receive webhooks?', initialValue: true });
  if (ui.isCancel(enabled)) return cancelled(ui);
  if (!enabled) return { ...known, enabled };
  const port = await ui.text({
    message: 'Port',
    initialValue: String(known.port),
    validate: (text) => portProblem(text ?? ''),
  });
  if (ui.isCancel(port)) return cancelled(ui);
  const secret = await ui.password({
    message: `Secret for all routes (empty: ${hasSecret ? 'keep the one that is set' : 'make one'})`,
  });
  if (ui.isCancel(secret)) return cancelled(ui);
  const publicUrl = await ui.text({
    message: 'Public address, if there is one',
    initialValue: known.publicUrl ?? '',
    validate: (text) => (text ? urlProblem(text) : undefined),
  });
  if (ui.isCancel(publicUrl)) return cancelled(ui);
  ui.outro('Saved');
  return { enabled, port: Number(port), secret: secret?.trim() || known.secret, publicUrl: publicUrl || undefined };
}

function cancelled(ui: typeof import('@clack/prompts')): undefined {
  ui.cancel('Nothing was changed.');
  return undefined;
}

async function save(app: App, { enabled, port, secret, publicUrl }: Answers): Promise<void> {
  const webhook = ['platforms', 'webhook'];
  const { editSettings } = await import('../edit-settings.ts');
  await editSettings(app, [
    [[...webhook, 'enabled'], enabled],
    [[...webhook, 'extra', 'port'], port],
    ...(secret === undefined ? [] : [[[...webhook, 'extra', 'secret'], secret] as const]),
    ...(publicUrl === undefined ? [] : [[[...webhook, 'extra', 'public_url'], publicUrl] as const]),
  ]);
}

function portProblem(text: string): string | undefined {
  const port = Number(text);
  return /^\d+$/.test(text) && port <= 65_535 ? undefined : 'a port is a number from 0 to 65535';
}

function urlProblem(text: string): string | undefined {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) ? undefined : 'write it as https://name';
}
