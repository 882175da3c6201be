// /quit: leaves the chat.

import type { SlashCommand } from '../slash-command.ts';

export const quit: SlashCommand = {
  name: 'quit',
  aliases: ['exit'],
  summary: 'Leave the chat; svc chat --continue comes back to it.',
  usage: '/quit',
  run: async () => ({ kind: 'quit' }),
};
