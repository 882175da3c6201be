// Runs the MCP server until its client leaves or the process is asked to end. On stdio nothing but the protocol may be
// written to stdout.

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { App } from '../app.ts';
import { serveOnHttp, serveOnStdio } from '../mcp/server.ts';
import { readIfExists, writeFileAtomic } from '../system/files.ts';
import { createBrowserTools } from '../tools/browser-tools.ts';
import type { CliContext } from './command.ts';
import { VERSION } from './version.ts';

export async function serveMcp(app: App, context: CliContext, http: { port: number } | undefined): Promise<void> {
  const browsers = await app.browsers();
  const tools = createBrowserTools(browsers);
  const taskContext = {
    taskId: app.newId('mcp'),
    trust: 'person',
    grantedTools: tools.map((tool) => tool.name),
  } as const;
  const options = { version: VERSION, tools, context: taskContext };
  const ending = new AbortController();
  const end = () => ending.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.once(signal, end);
  try {
    if (http === undefined) await serveOnStdio(options, ending.signal);
    else {
      await app.ensureHome();
      const { path, token } = await tokenOf(app, context.env);
      const server = await serveOnHttp(options, http.port, token);
      context.stdout.write(`${server.url}\n`);
      context.stderr.write(`Clients send the bearer token in ${path}. Ctrl-C ends the server.\n`);
      await new Promise<void>((resolve) => ending.signal.addEventListener('abort', () => resolve(), { once: true }));
      await server.close();
    }
  } finally {
    for (const signal of signals) process.off(signal, end);
  }
}

/** From the environment, or one of our own that stays the same between starts. */
async function tokenOf(app: App, env: NodeJS.ProcessEnv): Promise<{ path: string; token: string }> {
  if (env.SVC_MCP_TOKEN) return { path: 'SVC_MCP_TOKEN', token: env.SVC_MCP_TOKEN };
  const path = join(app.paths.home, 'mcp-token');
  const known = (await readIfExists(path))?.trim();
  if (known) return { path, token: known };
  const token = randomBytes(24).toString('base64url');
  writeFileAtomic(path, `${token}\n`);
  return { path, token };
}
