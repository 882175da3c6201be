// /stop: interrupts the turn in progress.

import type { SlashCommand } from '../slash-command.ts';

export const stop: SlashCommand = {
  name: 'stop',
  summary: 'Interrupt the answer in progress, as Ctrl-C does.',
  usage: '/stop',
  run: async () => ({ kind: 'stop' }),
};
