// docs/tools.md: the tools and toolsets, as the model and the registry see them.

import { z } from 'zod';
import type { Tool } from '../../src/agent/tool.ts';
import { openApp } from '../../src/app.ts';

export async function toolsPage(): Promise<string> {
  // A home that does not exist: nothing of whoever generates the page gets into it, and nothing is created.
  const app = openApp({ env: {}, home: '/nonexistent/svc' });
  try {
    const { toolbox } = await app.agent();
    const sets = await toolbox.toolsets();
    return [
      '<!-- Generated from src/tools by `npm run docs`. -->',
      '# Tools',
      '',
      INTRODUCTION,
      '',
      '## Toolsets',
      '',
      '| Toolset | Tools |',
      '|---|---|',
      ...sets.map(({ name, tools }) => `| \`${name}\` | ${tools.map((tool) => `\`${tool}\``).join(', ')} |`),
      ...toolbox.own.flatMap(toolSection),
      '',
    ].join('\n');
  } finally {
    await app.close();
  }
}

const INTRODUCTION = `What the agent can do. A task gets the tools of the toolsets it is granted and nothing else: a chat gets \`svc-chat\`, a
webhook route \`svc-webhook\` or its \`toolsets\`, a job \`svc-cron\` or its \`toolsets\`. \`svc tools list\` shows what a chat, route or
job really gets and why a tool is hidden. The key \`toolsets\` of config.yaml adds toolsets or gives a built-in one other
contents (list its own name to keep what it has). MCP servers under \`mcp_servers\` add tools named \`<server>_<tool>\`; their
toolsets are those of their settings and \`mcp-<server>\`.

Runs that hold text from outside (webhooks, jobs with a script) are *untrusted*: their terminal is always sandboxed and
without network, and some tools are given to them only by their own name, or never.`;

const UNTRUSTED = {
  named: 'Untrusted runs get it only when it is listed by its own name.',
  never: 'Untrusted runs never get it.',
};

function toolSection(tool: Tool): string[] {
  const schema = z.toJSONSchema(tool.input, { io: 'input' });
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([name, value]) => {
    const node = typeof value === 'object' ? value : {};
    const standard = node.default === undefined ? '' : ` Default: \`${JSON.stringify(node.default)}\`.`;
    return `| \`${name}\` | ${typeOf(node)} | ${required.has(name) ? 'yes' : 'no'} | ${(node.description ?? '').replaceAll('|', '\\|')}${standard} |`;
  });
  return [
    '',
    `## \`${tool.name}\``,
    '',
    tool.description,
    '',
    `Toolsets: ${tool.toolsets.map((name) => `\`${name}\``).join(', ')}.${tool.untrusted ? ` ${UNTRUSTED[tool.untrusted]}` : ''}`,
    ...(rows.length === 0 ? [] : ['', '| Parameter | Type | Required | Meaning |', '|---|---|---|---|', ...rows]),
  ];
}

function typeOf(node: { type?: unknown; enum?: unknown[]; anyOf?: unknown[] }): string {
  if (node.enum) return node.enum.map((value) => `\`${String(value)}\``).join(', ');
  return typeof node.type === 'string' ? node.type : 'any';
}
