// A small MCP server over stdio, a program of its own: tests start it as a user's server would be started.

import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const server = new McpServer({ name: 'test-server', version: '1.0.0' });

server.registerTool(
  'add',
  {
    description: 'Adds two numbers.',
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    annotations: { readOnlyHint: true },
  },
  async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }),
);
server.registerTool('fail', { description: 'Always fails.', inputSchema: z.object({}) }, async () => ({
  content: [{ type: 'text', text: 'it went wrong' }],
  isError: true,
}));
server.registerTool('environment', { description: 'Names of its variables.', inputSchema: z.object({}) }, async () => ({
  content: [{ type: 'text', text: Object.keys(process.env).sort().join(' ') }],
}));
server.registerTool('wait', { description: 'Never answers.', inputSchema: z.object({}) }, () => new Promise(() => {}));
server.registerTool('die', { description: 'Ends the server.', inputSchema: z.object({}) }, () => process.exit(3));

await server.connect(new StdioServerTransport());
