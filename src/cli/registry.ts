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
    name: 'runs',
    summary: 'List, show, cancel and retry runs.',
    load: async () => (await import('./commands/runs.ts')).runs,
  },
  {
    name: 'config',
    summary: 'Show, check and change the settings.',
    load: async () => (await import('./commands/config.ts')).config,
  },
];
