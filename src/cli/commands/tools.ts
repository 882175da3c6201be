// `svc tools`: what a chat, a route, a job or a toolset really gets, and why a tool is hidden.

import type { Command } from 'commander';
import type { App } from '../../app.ts';
import { SvcError } from '../../core/errors.ts';
import { silentLog } from '../../core/log.ts';
import { findJob } from '../../store/jobs.ts';
import type { CliContext, CommandModule } from '../command.ts';
import { addExamples, printListing } from '../listing.ts';
import { withApp } from '../with-app.ts';

interface ListOptions {
  route?: string;
  job?: string;
  toolset?: string;
  json?: true;
}

/** Who is asked about: the names that are granted, and how far the task is trusted. */
interface Asked {
  what: string;
  names: readonly string[];
  untrusted: boolean;
  taskId: string;
  /** An agent's job gets no tool that its maker did not have. */
  allowed?: readonly string[];
}

interface Row {
  tool: string;
  given: boolean;
  why: string;
  description: string;
}

export const tools: CommandModule = {
  define(command, context) {
    command.description('See which tools the agent gets.');
    addExamples(command, ['svc tools list', 'svc tools list --route github', 'svc tools sets']);
    defineList(command.command('list'), context);
    defineSets(command.command('sets'), context);
  },
};

function defineList(command: Command, context: CliContext): void {
  command
    .description('List the tools of your own chat, or of what is named, with the reason for each hidden one.')
    .option('--route <name>', 'the runs of this webhook route')
    .option('--job <id or name>', 'the runs of this scheduled job')
    .option('--toolset <name>', 'a chat that is given this toolset or tool')
    .option('--json', 'print JSON');
  addExamples(command, [
    'svc tools list',
    'svc tools list --route github --json',
    'svc tools list --job "morning report"',
    'svc tools list --toolset svc-webhook',
  ]);
  command.action((options: ListOptions) =>
    withApp(context, async (app) => {
      const asked = await askedFor(app, options);
      const { toolbox } = await app.agent();
      const task = { trust: asked.untrusted ? 'untrusted' : 'person', taskId: asked.taskId } as const;
      const resolved = await toolbox.resolve(asked.names, task);
      const rows: Row[] = [
        ...resolved.granted.map((tool) => grantedRow(tool, asked)),
        ...resolved.hidden.map(({ name, reason }) => ({ tool: name, given: false, why: reason, description: '' })),
        ...resolved.unknown.map((name) => ({
          tool: name,
          given: false,
          why: 'There is no tool or toolset of this name; svc tools sets shows them.',
          description: '',
        })),
      ];
      printRows(context, asked, rows, options.json === true);
      for (const { server, reason } of resolved.problems) context.stderr.write(`MCP server ${server}: ${reason}\n`);
    }),
  );
}

/** Reasons are sentences: they stand below the table, whole. */
function printRows(context: CliContext, asked: Asked, rows: readonly Row[], json: boolean): void {
  const { stdout } = context;
  if (!json) stdout.write(`${asked.what}\n`);
  printListing(context, json ? rows : rows.filter((row) => row.given), {
    json,
    empty: 'No tools.',
    columns: [
      { title: 'TOOL', value: (row) => row.tool },
      { title: 'THROUGH', value: (row) => row.why },
    ],
    toJson: ({ tool, given, why, description }) => ({ tool, given, ...(given ? { description } : { reason: why }) }),
  });
  const hidden = json ? [] : rows.filter((row) => !row.given);
  if (hidden.length > 0) stdout.write(`Hidden:\n${hidden.map(({ tool, why }) => `  ${tool}: ${why}\n`).join('')}`);
}

function grantedRow(tool: { name: string; description: string; toolsets: readonly string[] }, asked: Asked): Row {
  const { name, description } = tool;
  if (asked.allowed && !asked.allowed.includes(name)) {
    return { tool: name, given: false, why: 'The agent that made this job did not have it.', description };
  }
  const through = asked.names.includes(name) ? 'named itself' : tool.toolsets.join(', ');
  return { tool: name, given: true, why: through, description };
}

async function askedFor(app: App, options: ListOptions): Promise<Asked> {
  if ([options.route, options.job, options.toolset].filter((name) => name !== undefined).length > 1) {
    throw new SvcError('usage', 'Only one of --route, --job and --toolset can be used.');
  }
  if (options.route !== undefined) return routeAsked(app, options.route);
  if (options.job !== undefined) return jobAsked(app, options.job);
  const name = options.toolset ?? 'svc-chat';
  const what = `A chat with ${name}:`;
  return { what, names: [name], untrusted: false, taskId: 'chat_listing' };
}

async function routeAsked(app: App, name: string): Promise<Asked> {
  const { config } = await app.config();
  const { openRoutes } = await import('../../webhooks/routes.ts');
  const route = openRoutes(config.platforms.webhook.extra, app.paths.subscriptions, silentLog).find(name);
  if (!route) {
    throw new SvcError('not_found', `There is no route "${name}".`, {
      help: 'svc webhook list shows the subscriptions.',
    });
  }
  const what = `Runs of route ${name}, which hold text from outside (${route.toolsets.join(', ')}):`;
  return { what, names: route.toolsets, untrusted: true, taskId: 'run_listing' };
}

async function jobAsked(app: App, key: string): Promise<Asked> {
  const job = await (await app.store()).read(findJob({ key }));
  if (!job) throw new SvcError('not_found', `There is no job "${key}".`, { help: 'svc cron list shows all jobs.' });
  const names = job.options.toolsets ?? ['svc-cron'];
  const untrusted = job.options.script !== undefined;
  const note = untrusted ? ', which hold the output of a script' : '';
  const { allowedTools } = job.options;
  return {
    what: `Runs of job ${job.name}${note} (${names.join(', ')}):`,
    names,
    untrusted,
    taskId: 'run_listing',
    ...(allowedTools === undefined ? {} : { allowed: allowedTools }),
  };
}

function defineSets(command: Command, context: CliContext): void {
  command
    .description('List the toolsets and what is in them; MCP servers are asked too.')
    .option('--json', 'print JSON');
  addExamples(command, ['svc tools sets', 'svc tools sets --json']);
  command.action((options: { json?: true }) =>
    withApp(context, async (app) => {
      const sets = await (await app.agent()).toolbox.toolsets();
      printListing(context, sets, {
        json: options.json === true,
        empty: 'There are no toolsets.',
        columns: [
          { title: 'TOOLSET', value: (row) => row.name },
          { title: 'TOOLS', value: (row) => row.tools.join(', ') },
        ],
        toJson: (row) => row,
      });
    }),
  );
}
