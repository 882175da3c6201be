// `svc mcp`: the browser tools for any MCP client, and the MCP servers whose tools our agent may use.

import type { Command } from 'commander';
import { SvcError } from '../../core/errors.ts';
import type { CliContext, CommandModule } from '../command.ts';
import { addExamples, printListing } from '../listing.ts';
import { withApp } from '../with-app.ts';

export const mcp: CommandModule = {
  define(command, context) {
    command.description(
      'Serve the browser tools to an MCP client on stdio or HTTP; list and check the servers we use.',
    );
    defineServe(command, context);
    defineList(command.command('list'), context);
    defineCheck(command.command('check'), context);
  },
};

function defineServe(command: Command, context: CliContext): void {
  command
    .option('--http', 'listen on a loopback port instead of stdio; clients send the token as a bearer token')
    .option('--port <number>', 'the port for --http, 0 for any that is free', '8645');
  addExamples(command, ['svc mcp', 'svc mcp --http --port 8645', 'svc mcp list', 'svc mcp check']);
  command.action(async (options: { http?: true; port: string }) => {
    const port = Number(options.port);
    if (!Number.isInteger(port) || port < 0 || port > 65_535) {
      throw new SvcError('usage', `${options.port} is not a port.`, { help: 'Give a number from 0 to 65535.' });
    }
    const { serveMcp } = await import('../serve-mcp.ts');
    await withApp(context, (app) => serveMcp(app, context, options.http ? { port } : undefined));
  });
}

function defineList(command: Command, context: CliContext): void {
  command.description('List the configured servers, without starting them.').option('--json', 'print JSON');
  addExamples(command, ['svc mcp list', 'svc mcp list --json']);
  command.action((options: { json?: true }) =>
    withApp(context, async (app) => {
      const { config } = await app.config();
      const rows = Object.entries(config.mcp_servers).map(([name, server]) => ({ name, ...server }));
      printListing(context, rows, {
        json: options.json === true,
        empty: 'No MCP servers are configured. Add one under mcp_servers in config.yaml.',
        columns: [
          { title: 'SERVER', value: (row) => row.name },
          { title: 'ENABLED', value: (row) => (row.enabled ? 'yes' : 'no') },
          { title: 'TOOLSETS', value: (row) => row.toolsets.join(', ') },
          { title: 'WHERE', value: (row) => placeOf(row) },
        ],
        toJson: (row) => ({ name: row.name, enabled: row.enabled, toolsets: row.toolsets, where: placeOf(row) }),
      });
    }),
  );
}

/** Without arguments and query: both are places where people put keys. */
function placeOf({ command, url }: { command?: string | undefined; url?: string | undefined }): string {
  if (command !== undefined) return command;
  const parsed = url === undefined ? null : URL.parse(url);
  return parsed ? parsed.origin + parsed.pathname : '';
}

function defineCheck(command: Command, context: CliContext): void {
  command
    .description('Start or call each server and list its tools; exit code 1 when one does not work.')
    .argument('[server]', 'only this one')
    .option('--json', 'print JSON');
  addExamples(command, ['svc mcp check', 'svc mcp check files']);
  command.action((only: string | undefined, options: { json?: true }) =>
    withApp(context, async (app) => {
      const { servers } = await app.agent();
      const names = only === undefined ? servers.names : [only];
      const checked = await Promise.all(names.map(async (name) => ({ name, result: await servers.check(name) })));
      printListing(context, checked, {
        json: options.json === true,
        empty: 'No MCP servers are switched on.',
        columns: [
          { title: 'SERVER', value: ({ name }) => name },
          { title: 'STATE', value: ({ result }) => result.kind },
          {
            title: 'TOOLS',
            value: ({ result }) =>
              result.kind === 'ok' ? result.tools.map((tool) => tool.name).join(', ') : result.reason,
          },
        ],
        toJson: ({ name, result }) =>
          result.kind === 'ok'
            ? { name, state: 'ok', tools: result.tools.map((tool) => tool.name) }
            : { name, state: 'failed', reason: result.reason },
      });
      const broken = checked.filter(({ result }) => result.kind === 'failed').map(({ name }) => name);
      if (broken.length > 0) {
        throw new SvcError('tool_failed', `Not working: ${broken.join(', ')}.`, {
          help: 'Look at mcp_servers in config.yaml, and start the server by hand to see what it says.',
        });
      }
    }),
  );
}
