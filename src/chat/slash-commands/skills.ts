// /skills: which skills there are.

import type { Skills } from '../../agent/skills.ts';
import type { SlashCommand } from '../slash-command.ts';

export const createSkillsCommand = (skills: Pick<Skills, 'list'>): SlashCommand => ({
  name: 'skills',
  summary: 'Show the skills the agent can load.',
  usage: '/skills',
  async run(_words, { print }) {
    const found = await skills.list();
    const lines = found.skills.map(({ name, description }) => `${name}: ${description}`);
    lines.push(...found.problems.map(({ path, reason }) => `Not usable: ${path}: ${reason}`));
    print(lines.length === 0 ? 'There are no skills.' : lines.join('\n'));
    return undefined;
  },
});
