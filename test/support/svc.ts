// The program as a user meets it: bin/svc in a home of its own, commands to their end and gateways until they are stopped.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const launcher = resolve(import.meta.dirname, '../../bin/svc');
const READY_MS = 60_000;

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunningGateway {
  url: string;
  pid: number;
  child: ChildProcess;
  /** Everything it wrote so far. */
  output(): string;
  /** Sends the signal and waits for the end. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface SvcHome {
  path: string;
  /** Writes config.yaml. */
  configure(yaml: string): void;
  /** Runs one command to its end. */
  svc(args: readonly string[], options?: { env?: NodeJS.ProcessEnv; input?: string }): Promise<Finished>;
  /** Starts `svc gateway run` on a free port and waits until it answers. */
  startGateway(options?: { env?: NodeJS.ProcessEnv }): Promise<RunningGateway>;
  /** Ends what runs in the home and removes it. */
  remove(): Promise<void>;
}

/** A fresh home. `program` is the launcher to use, with its leading arguments. */
export function createSvcHome(program: readonly [string, ...string[]] = [process.execPath, launcher]): SvcHome {
  const path = mkdtempSync(join(tmpdir(), 'svc-home-'));
  const gateways: RunningGateway[] = [];
  const environment = (env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
    PATH: process.env.PATH,
    HOME: path,
    SVC_HOME: path,
    WEBHOOK_PORT: '0',
    ...(process.env.NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
    ...env,
  });
  const [command, ...leading] = program;
  const start = (args: readonly string[], env: NodeJS.ProcessEnv | undefined) =>
    spawn(command, [...leading, ...args], { cwd: path, env: environment(env), stdio: ['pipe', 'pipe', 'pipe'] });

  return {
    path,
    configure: (yaml) => writeFileSync(join(path, 'config.yaml'), yaml, { mode: 0o600 }),
    async svc(args, { env, input } = {}) {
      const child = start(args, env);
      const stdout = collect(child.stdout);
      const stderr = collect(child.stderr);
      child.stdin.on('error', () => {});
      child.stdin.end(input ?? '');
      const [code] = (await once(child, 'close')) as [number | null];
      return { code, stdout: stdout(), stderr: stderr() };
    },
    async startGateway({ env } = {}) {
      const child = start(['gateway', 'run'], env);
      const stdout = collect(child.stdout);
      const stderr = collect(child.stderr);
      const output = (): string => stdout() + stderr();
      const url = await readyUrl(child, stdout, output);
      const gateway: RunningGateway = {
        url,
        pid: child.pid ?? 0,
        child,
        output,
        async end(signal = 'SIGTERM') {
          if (child.exitCode === null && child.signalCode === null) {
            child.kill(signal);
            await once(child, 'exit');
          }
          return child.exitCode;
        },
      };
      gateways.push(gateway);
      return gateway;
    },
    async remove() {
      await Promise.all(gateways.map((gateway) => gateway.end('SIGKILL')));
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** What the background gateway of a home says of itself. */
export function gatewayStateOf(home: string): { pid: number; url: string } {
  return JSON.parse(readFileSync(join(home, 'gateway.json'), 'utf8'));
}

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  return () => text;
}

async function readyUrl(child: ChildProcess, stdout: () => string, output: () => string): Promise<string> {
  const deadline = performance.now() + READY_MS;
  while (performance.now() < deadline) {
    for (const line of stdout().split('\n')) {
      if (line.includes('The gateway is ready')) return (JSON.parse(line) as { url: string }).url;
    }
    if (child.exitCode !== null || child.signalCode !== null) break;
    await new Promise((next) => setTimeout(next, 20));
  }
  child.kill('SIGKILL');
  throw new Error(`The gateway did not start:\n${output()}`);
}
