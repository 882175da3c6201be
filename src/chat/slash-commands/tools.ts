// /tools: what the agent may use in this chat, and why the rest is hidden.

import type { SlashCommand } from '../slash-command.ts';

export interface ToolsCommandDeps {
  toolsOf(sessionId: string): Promise<{
    granted: readonly { name: string; description: string }[];
    hidden: readonly { name: string; reason: string }[];
    problems: readonly { server: string; reason: string }[];
  }>;
}

export const createToolsCommand = (deps: ToolsCommandDeps): SlashCommand => ({
  name: 'tools',
  summary: 'Show the tools of this chat.',
  usage: '/tools',
  async run(_words, { print, sessionId }) {
    const { granted, hidden, problems } = await deps.toolsOf(sessionId);
    const width = Math.max(0, ...granted.map((tool) => tool.name.length));
    const lines = granted.map((tool) => `${tool.name.padEnd(width)}  ${firstSentence(tool.description)}`);
    if (hidden.length > 0) lines.push('', 'Hidden:', ...hidden.map(({ name, reason }) => `${name}: ${reason}`));
    if (problems.length > 0) lines.push('', ...problems.map(({ server, reason }) => `MCP server ${server}: ${reason}`));
    print(lines.join('\n'));
    return undefined;
  },
});

const firstSentence = (text: string): string => /^.*?\.(?=\s+[A-Z]|$)/s.exec(text)?.[0] ?? text;
