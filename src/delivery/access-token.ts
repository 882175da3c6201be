// Platforms that hand out an access token for a while: asked for once, kept in memory until shortly before it ends, and
// asked for again when the platform says that it has ended early.

import type { HttpCall } from '../system/fetch-json.ts';
import type { PlatformError } from './judge.ts';
import { textAt } from './judge.ts';
import type { SendOutcome } from './outcome.ts';
import type { Connection } from './target.ts';

export interface TokenSource {
  /** One kept token per id: the account it belongs to. */
  id: string;
  /** Under base_url, or a whole URL. */
  path: string;
  request: Omit<HttpCall, 'url' | 'timeoutMs' | 'signal'>;
  /** Where the answer has the token and its life in seconds. */
  tokenAt: string;
  secondsAt: string;
  error(json: unknown): PlatformError;
  /** Matches the reason of a refusal that means "this token has ended". */
  ended: RegExp;
}

type Caller = Pick<Connection<unknown, unknown>, 'call' | 'memory' | 'now'>;

/** Calls `use` with a token; once more with a fresh one when the first had ended. */
export async function withAccessToken(
  caller: Caller,
  source: TokenSource,
  use: (token: string) => Promise<SendOutcome>,
): Promise<SendOutcome> {
  const kept = keptToken(caller, source.id);
  if (kept !== undefined) {
    const outcome = await use(kept);
    if (outcome.kind !== 'refused' || !source.ended.test(outcome.reason)) return outcome;
    caller.memory.delete(source.id);
  }
  const token = await fetchToken(caller, source);
  return typeof token === 'string' ? use(token) : token;
}

/** A fresh token proves that the credentials work. */
export async function checkAccessToken(caller: Caller, source: TokenSource, who: string): Promise<SendOutcome> {
  const token = await fetchToken(caller, source);
  return typeof token === 'string' ? { kind: 'sent', receipt: who } : token;
}

const RENEW_EARLY_S = 120;
const USUAL_LIFE_S = 7200;

async function fetchToken(caller: Caller, source: TokenSource): Promise<string | SendOutcome> {
  let seconds = USUAL_LIFE_S;
  const outcome = await caller.call(source.path, source.request, {
    receipt: (json) => {
      seconds = Number(textAt(json, source.secondsAt) ?? USUAL_LIFE_S);
      return textAt(json, source.tokenAt);
    },
    error: source.error,
  });
  // No message was on its way yet, so an answer that got lost is only a failure.
  if (outcome.kind === 'unknown') return { kind: 'failed', reason: outcome.reason };
  if (outcome.kind !== 'sent' || outcome.receipt === undefined) return outcome;
  const until = caller.now() + Math.max(0, seconds - RENEW_EARLY_S) * 1000;
  caller.memory.set(source.id, { token: outcome.receipt, until });
  return outcome.receipt;
}

function keptToken({ memory, now }: Caller, id: string): string | undefined {
  const kept = memory.get(id);
  const until = Number(textAt(kept, 'until') ?? 0);
  return until > now() ? textAt(kept, 'token') : undefined;
}
