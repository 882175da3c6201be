// /new: a fresh conversation.

import type { SlashCommand } from '../slash-command.ts';

export const newSession: SlashCommand = {
  name: 'new',
  summary: 'Start a new conversation; the old one is kept.',
  usage: '/new',
  run: async () => ({ kind: 'new_session' }),
};
