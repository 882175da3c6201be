// The commands of `svc`, one line each. Only the called one is loaded: start-up time is a feature.

import type { CommandModule } from './command.ts';

export interface CommandEntry {
  name: string;
  summary: string;
  load(): Promise<CommandModule>;
}

export const commands: readonly CommandEntry[] = [
  {
    name: 'gateway',
    summary: 'Start, stop and watch the gateway.',
    load: async () => (await import('./commands/gateway.ts')).gateway,
  },
  {
    name: 'webhook',
    summary: 'Subscribe to webhooks, test them, see what came in.',
    load: async () => (await import('./commands/webhook.ts')).webhook,
  },
  {
    name: 'runs',
    summary: 'List, show, cancel and retry runs.',
    load: async () => (await import('./commands/runs.ts')).runs,
  },
  {
    name: 'deliver',
    summary: 'Send one message now.',
    load: async () => (await import('./commands/deliver.ts')).deliver,
  },
  {
    name: 'deliveries',
    summary: 'List, show, retry and drop outgoing messages.',
    load: async () => (await import('./commands/deliveries.ts')).deliveries,
  },
  {
    name: 'platforms',
    summary: 'See, check and set up where messages can go.',
    load: async () => (await import('./commands/platforms.ts')).platforms,
  },
  {
    name: 'config',
    summary: 'Show, check and change the settings.',
    load: async () => (await import('./commands/config.ts')).config,
  },
  {
    name: 'chat',
    summary: 'Talk with the agent.',
    load: async () => (await import('./commands/chat.ts')).chat,
  },
  {
    name: 'ask',
    summary: 'Ask one question, print one answer.',
    load: async () => (await import('./commands/ask.ts')).ask,
  },
  {
    name: 'sessions',
    summary: 'List and show earlier chats.',
    load: async () => (await import('./commands/sessions.ts')).sessions,
  },
  {
    name: 'tools',
    summary: 'See which tools the agent gets.',
    load: async () => (await import('./commands/tools.ts')).tools,
  },
  {
    name: 'skills',
    summary: 'List, show and check skills.',
    load: async () => (await import('./commands/skills.ts')).skills,
  },
  {
    name: 'browser',
    summary: 'See, connect and check the browser of the agent.',
    load: async () => (await import('./commands/browser.ts')).browser,
  },
  {
    name: 'mcp',
    summary: 'Offer the browser to MCP clients; list and check MCP servers.',
    load: async () => (await import('./commands/mcp.ts')).mcp,
  },
  {
    name: 'model',
    summary: 'Choose, list and test the model of the agent.',
    load: async () => (await import('./commands/model.ts')).model,
  },
  {
    name: 'cron',
    summary: 'Make, list, run and explain scheduled jobs.',
    load: async () => (await import('./commands/cron.ts')).cron,
  },
];
