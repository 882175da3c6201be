// Which tools a task gets. A toolset is a name for tools: those that say they belong to it, and the toolsets it includes.
// Nothing is ever granted that was not asked for by the name of a tool or toolset.

import type { Tool, Trust } from '../agent/tool.ts';

// What a toolset holds besides the tools that name it in their own file.
const INCLUDES: Readonly<Record<string, readonly string[]>> = {
  browser: [],
  terminal: [],
  files: [],
  web: [],
  skills: [],
  messaging: [],
  cron: [],
  core: ['terminal', 'files', 'web', 'skills', 'messaging', 'cron', 'browser'],
  'svc-chat': ['core'],
  'svc-acp': ['core'],
  'svc-api-server': ['core'],
  // A job delivers its answer by itself, and jobs that make jobs grow without anybody watching.
  'svc-cron': ['terminal', 'files', 'web', 'skills', 'browser'],
  // What a webhook brings was written by strangers: nothing here reaches the network, sends, or makes anything that stays.
  'svc-webhook': ['terminal', 'skills'],
};

/** Contents by toolset name, from the configuration: replaces what a built-in one includes. */
export type ToolsetOverrides = Readonly<Record<string, readonly string[]>>;

export interface HiddenTool {
  name: string;
  reason: string;
}

export interface ResolvedTools {
  granted: Tool[];
  /** Asked for, but not given, each with a sentence for people. */
  hidden: HiddenTool[];
  /** Names that are neither a tool nor a toolset. */
  unknown: string[];
}

export interface TaskOfTools {
  trust: Trust;
  taskId: string;
}

/** Expands the names and asks each tool whether this task can have it. */
export async function resolveTools(
  names: readonly string[],
  tools: readonly Tool[],
  overrides: ToolsetOverrides,
  task: TaskOfTools,
): Promise<ResolvedTools> {
  const { members, unknown } = expand(names, tools, overrides);
  const granted: Tool[] = [];
  const hidden: HiddenTool[] = [];
  const wanted = tools.filter((tool) => members.has(tool.name));
  const reasons = await Promise.all(wanted.map((tool) => reasonToHide(tool, names, task)));
  wanted.forEach((tool, index) => {
    const reason = reasons[index];
    if (reason === undefined) granted.push(tool);
    else hidden.push({ name: tool.name, reason });
  });
  return { granted, hidden, unknown };
}

/** Every toolset with the names of its tools, sorted, for listings. */
export function listToolsets(tools: readonly Tool[], overrides: ToolsetOverrides): { name: string; tools: string[] }[] {
  const named = tools.flatMap((tool) => tool.toolsets);
  const names = new Set([...Object.keys(INCLUDES), ...Object.keys(overrides), ...named]);
  return [...names].sort().map((name) => ({ name, tools: [...expand([name], tools, overrides).members].sort() }));
}

/** The names themselves and every toolset they lead to. */
export const namesWithin = (names: readonly string[], overrides: ToolsetOverrides): ReadonlySet<string> =>
  expand(names, [], overrides).seen;

async function reasonToHide(tool: Tool, names: readonly string[], task: TaskOfTools): Promise<string | undefined> {
  if (task.trust === 'untrusted' && tool.untrusted === 'never') {
    return 'Never given to runs that hold text from outside.';
  }
  if (task.trust === 'untrusted' && tool.untrusted === 'named' && !names.includes(tool.name)) {
    return `Runs that hold text from outside get it only when \`${tool.name}\` itself is listed under their toolsets.`;
  }
  return tool.hidden?.(task);
}

function expand(names: readonly string[], tools: readonly Tool[], overrides: ToolsetOverrides) {
  const members = new Set<string>();
  const unknown: string[] = [];
  const seen = new Set<string>();
  const visit = (name: string) => {
    if (seen.has(name)) return;
    seen.add(name);
    const override = Object.hasOwn(overrides, name) ? overrides[name] : undefined;
    const built = Object.hasOwn(INCLUDES, name) ? INCLUDES[name] : undefined;
    const inside = override ? [] : tools.filter((tool) => tool.toolsets.includes(name));
    const isTool = tools.some((tool) => tool.name === name);
    if (isTool) members.add(name);
    for (const tool of inside) members.add(tool.name);
    for (const included of override ?? built ?? []) {
      // A toolset that is replaced by "itself and more" means the built-in contents.
      if (included === name) addBuiltIn(name);
      else visit(included);
    }
    if (!isTool && !override && !built && inside.length === 0) unknown.push(name);
  };
  const addBuiltIn = (name: string) => {
    for (const tool of tools) if (tool.toolsets.includes(name)) members.add(tool.name);
    for (const included of INCLUDES[name] ?? []) visit(included);
  };
  for (const name of names) visit(name);
  return { members, unknown, seen };
}
