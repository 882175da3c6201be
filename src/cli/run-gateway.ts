// Runs the gateway in this process until a signal ends it.

import type { SvcError } from '../core/errors.ts';
import { type Gateway, startGateway } from '../gateway.ts';
import { streamSink, terminalSink } from '../system/log-sinks.ts';
import { releaseStartupMemory } from '../system/memory.ts';
import type { CliContext } from './command.ts';
import { VERSION } from './version.ts';

const STOP_DEADLINE_MS = 8_000;
const EXIT_DEADLINE_MS = 9_900;
const LINGER_MS = 200;
const SETTLED_MS = 1_000;
/** One Ctrl-C may arrive twice: from the terminal, and passed on by the npm or launcher process above this one. */
const SAME_KEY_PRESS_MS = 300;

/** Resolves when the gateway has stopped in order; throws when it could not start or could not go on. */
export async function runGateway(context: CliContext, { quiet }: { quiet: boolean }): Promise<void> {
  const ended = Promise.withResolvers<void>();
  let gateway: Gateway | undefined;
  let stopping = false;
  const stop = (fatal?: SvcError): void => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => process.exit(1), EXIT_DEADLINE_MS).unref();
    const stopped = gateway?.stop(STOP_DEADLINE_MS) ?? Promise.resolve();
    void stopped.then(() => (fatal === undefined ? ended.resolve() : ended.reject(fatal)));
  };
  const forget = onSignals(() => stop());
  try {
    gateway = await startGateway({
      env: context.env,
      version: VERSION,
      onFatal: stop,
      ...(quiet ? {} : { terminal: context.stdout.isTTY ? terminalSink(context.stdout) : streamSink(context.stdout) }),
    });
    setTimeout(releaseStartupMemory, SETTLED_MS).unref();
    // The signal came while it was starting.
    if (stopping) await gateway.stop(STOP_DEADLINE_MS);
    else await ended.promise;
  } finally {
    forget();
    // Everything is stored and closed; a socket or timer that lingers somewhere must not keep the process.
    setTimeout(() => process.exit(), LINGER_MS).unref();
  }
}

/** Calls `first` for the first signal and ends the process at the second. */
function onSignals(first: () => void): () => void {
  let firstAt: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = performance.now();
    if (firstAt === undefined) {
      firstAt = now;
      first();
    } else if (signal !== 'SIGINT' || now - firstAt > SAME_KEY_PRESS_MS) process.exit(1);
  };
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}
