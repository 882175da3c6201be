// The tools of the agent, one line each. What a tool needs comes in with `deps`; a tool without its part is left out.

import type { Skills } from '../agent/skills.ts';
import type { Tool } from '../agent/tool.ts';
import type { Browsers } from '../browser/supervisors.ts';
import { nearest } from '../core/nearest.ts';
import type { JobAccess } from '../jobs/questions.ts';
import type { HttpCaller } from '../system/fetch-json.ts';
import type { FileAccess } from './allowed-path.ts';
import { createBrowserTools } from './browser-tools.ts';
import { createCronjob } from './cronjob.ts';
import { createEditFile } from './edit-file.ts';
import type { McpProblem, McpServers } from './mcp-servers.ts';
import { createReadFile } from './read-file.ts';
import { createSearchFiles } from './search-files.ts';
import { createSendMessage, type SendMessage } from './send-message.ts';
import { createSkillTool } from './skill.ts';
import { createTerminal, type TerminalDeps } from './terminal.ts';
import {
  listToolsets,
  namesWithin,
  type ResolvedTools,
  resolveTools,
  type TaskOfTools,
  type ToolsetOverrides,
} from './toolsets.ts';
import { createWebFetch } from './web-fetch.ts';
import { createWriteFile } from './write-file.ts';

export interface ToolDeps {
  files: FileAccess;
  terminal: TerminalDeps;
  http: Pick<HttpCaller, 'call'>;
  skills: Skills;
  send: SendMessage;
  browsers: Browsers;
  jobs: JobAccess;
}

export function createTools(deps: ToolDeps): Tool[] {
  return [
    createTerminal(deps.terminal),
    createReadFile(deps.files),
    createWriteFile(deps.files),
    createEditFile(deps.files),
    createSearchFiles(deps.files),
    createWebFetch(deps.http),
    createSendMessage(deps.send),
    createSkillTool(deps.skills),
    createCronjob(deps.jobs),
    ...createBrowserTools(deps.browsers),
  ];
}

export interface Toolbox {
  /** The tools of this house, without those of servers. */
  readonly own: readonly Tool[];
  /** What a task gets for these names of tools and toolsets. */
  resolve(names: readonly string[], task: TaskOfTools): Promise<ResolvedTools & { problems: McpProblem[] }>;
  /** Why a name is neither a tool nor a toolset, with the one that was meant. No server is started for it. */
  problem(name: string): string | undefined;
  /** Every toolset with the tools in it; all MCP servers are asked. */
  toolsets(): Promise<{ name: string; tools: string[] }[]>;
}

/** The tools of this house and those of the user's MCP servers, handed out by name. */
export function createToolbox(
  tools: readonly Tool[],
  servers: Pick<McpServers, 'toolsFor' | 'names' | 'mayHave'>,
  overrides: ToolsetOverrides,
): Toolbox {
  return {
    own: tools,
    async resolve(names, task) {
      const further = await servers.toolsFor(namesWithin(names, overrides));
      const resolved = await resolveTools(names, unique([...tools, ...further.tools]), overrides, task);
      return { ...resolved, problems: further.problems };
    },
    problem(name) {
      const known = [...tools, ...listToolsets(tools, overrides)].map((one) => one.name);
      if (known.includes(name) || servers.mayHave(name)) return undefined;
      const meant = nearest(name, known);
      const hint = meant === undefined ? '`svc tools list` shows all of them.' : `Did you mean ${meant}?`;
      return `There is no tool or toolset ${name}. ${hint}`;
    },
    async toolsets() {
      const further = await servers.toolsFor(new Set(servers.names.map((name) => `mcp-${name}`)));
      return listToolsets(unique([...tools, ...further.tools]), overrides);
    },
  };
}

/** A server cannot take the place of one of our own tools by giving one the same name. */
function unique(tools: readonly Tool[]): Tool[] {
  const seen = new Set<string>();
  return tools.filter((tool) => !seen.has(tool.name) && seen.add(tool.name));
}
