// `svc browser`: which browser the agent uses, attaching it to one that runs, and a check that all of it works.

import type { Command } from 'commander';
import type { App } from '../../app.ts';
import type { Backend } from '../../browser/endpoint.ts';
import { SvcError } from '../../core/errors.ts';
import type { CliContext, CommandModule } from '../command.ts';
import { addExamples, printDetails, printJson, printListing } from '../listing.ts';
import { withApp } from '../with-app.ts';

export const browser: CommandModule = {
  define(command, context) {
    command.description('The browser of the agent: status, connection to a running one, and a check.');
    addExamples(command, ['svc browser status', 'svc browser connect 9222', 'svc browser doctor']);
    defineStatus(command.command('status'), context);
    defineConnect(command.command('connect'), context);
    defineDisconnect(command.command('disconnect'), context);
    defineDoctor(command.command('doctor'), context);
  },
};

function defineStatus(command: Command, context: CliContext): void {
  command.description('Tell which browser would be used and whether it answers.').option('--json', 'print JSON');
  addExamples(command, ['svc browser status', 'svc browser status --json']);
  command.action((options: { json?: true }) =>
    withApp(context, async (app) => {
      const backend = await (await app.browsers()).backend('');
      const { config } = await app.config();
      const answers = backend.kind === 'running' ? await versionAt(backend.address).catch(() => undefined) : undefined;
      const status = {
        backend: backend.kind,
        answers: backend.kind === 'running' ? answers !== undefined : undefined,
        version: answers,
        executable: backend.kind === 'own' ? backend.executable : undefined,
        dialog_policy: config.browser.dialog_policy,
        dialogs: backend.kind !== 'rest' && backend.kind !== 'none',
        reason: backend.kind === 'none' ? backend.reason : undefined,
      };
      if (options.json) return printJson(context, status);
      printDetails(context, [
        ['Browser', DESCRIPTIONS[backend.kind]],
        ['Program', status.executable],
        ['Answers', status.answers === undefined ? undefined : status.answers ? 'yes' : 'no'],
        ['Version', status.version],
        ['Dialogs', status.dialogs ? status.dialog_policy : 'not seen by this backend'],
        ['Reason', status.reason],
      ]);
    }),
  );
}

const DESCRIPTIONS: Readonly<Record<Backend['kind'], string>> = {
  running: 'one that runs already (browser.cdp_url)',
  hosted: 'a hosted one',
  rest: 'a backend with REST only',
  own: 'a Chromium that is started for each task',
  none: 'none',
};

function defineConnect(command: Command, context: CliContext): void {
  command
    .description('Use a browser that runs already, from now on.')
    .argument('[address]', 'a port, http://host:port, ws:// or wss://', '9222');
  addExamples(command, [
    'chromium --remote-debugging-port=9222 &',
    'svc browser connect',
    'svc browser connect http://127.0.0.1:9333',
  ]);
  command.action((address: string) =>
    withApp(context, async (app) => {
      const version = await versionAt(address);
      await saveAddress(app, address);
      context.stdout.write(`Connected to ${version}.\n`);
      context.stderr.write('A running gateway takes it over with `svc gateway restart`.\n');
    }),
  );
}

function defineDisconnect(command: Command, context: CliContext): void {
  command.description('Stop using the browser that `connect` named.');
  addExamples(command, ['svc browser disconnect']);
  command.action(() =>
    withApp(context, async (app) => {
      await saveAddress(app, undefined);
      context.stdout.write('Disconnected.\n');
      context.stderr.write('A running gateway takes it over with `svc gateway restart`.\n');
    }),
  );
}

function defineDoctor(command: Command, context: CliContext): void {
  command
    .description(
      'Try it for real: open a page, answer a dialog, read a text. Exit code 1 when something does not work.',
    )
    .option('--json', 'print JSON');
  addExamples(command, ['svc browser doctor', 'svc browser doctor --json']);
  command.action((options: { json?: true }) =>
    withApp(context, async (app) => {
      const { examineBrowser } = await import('../browser-doctor.ts');
      const checks = await examineBrowser(await app.browsers());
      printListing(context, checks, {
        json: options.json === true,
        empty: 'Nothing to check.',
        columns: [
          { title: 'CHECK', value: (check) => check.name },
          { title: 'RESULT', value: (check) => (check.ok ? 'ok' : 'failed') },
          { title: 'MS', value: (check) => check.ms },
          { title: 'DETAIL', value: (check) => check.detail },
        ],
        toJson: (check) => check,
      });
      const failed = checks.find((check) => !check.ok);
      if (failed === undefined) return;
      throw new SvcError('tool_failed', `The browser does not work: ${failed.name}.`, {
        help: failed.help ?? 'Install Chromium, or set browser.executable or browser.cdp_url.',
      });
    }),
  );
}

/** Rejects with `browser_gone` when no browser answers there. */
async function versionAt(address: string): Promise<string> {
  const [{ browserAddress }, { CdpConnection }] = await Promise.all([
    import('../../browser/endpoint.ts'),
    import('../../browser/cdp/connection.ts'),
  ]);
  const url = await browserAddress(address);
  const connection = await CdpConnection.open({ url, onEvent: () => {}, onClose: () => {} });
  try {
    return (await connection.call('Browser.getVersion')).product;
  } finally {
    connection.close();
  }
}

async function saveAddress(app: App, address: string | undefined): Promise<void> {
  const { editSettings } = await import('../edit-settings.ts');
  await editSettings(app, [[['browser', 'cdp_url'], address]]);
}
