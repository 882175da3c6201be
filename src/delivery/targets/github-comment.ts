// A comment on a GitHub issue or pull request, written by the `gh` program with the login of this machine.
// Everything that names something is checked first; the text goes in on standard input, never as an argument.

import { z } from 'zod';
import { runProcess } from '../../system/process.ts';
import { textAt } from '../judge.ts';
import type { SendOutcome } from '../outcome.ts';
import { type Bound, defineTarget } from '../target.ts';

const REPO = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})\/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/;
const NUMBER = /^[1-9]\d{0,8}$/;
// What gh reads of its surroundings: its login, the proxy and certificates of the machine, and nothing else.
const PASSED_ON =
  /^(PATH|HOME|USER|LANG|GH_TOKEN|GITHUB_TOKEN|GH_ENTERPRISE_TOKEN|GITHUB_ENTERPRISE_TOKEN|GH_HOST|GH_CONFIG_DIR|XDG_CONFIG_HOME|XDG_STATE_HOME|SSL_CERT_FILE|SSL_CERT_DIR|https?_proxy|HTTPS?_PROXY|no_proxy|NO_PROXY)$/;

// Jobs have no deliver_extra.
const OTHERWISE = '; without deliver_extra write github_comment:owner/name:12.';

const settings = z.object({
  command: z.string().min(1).describe('The gh program.').default('gh'),
  host: z
    .string()
    .regex(/^[A-Za-z0-9.-]+(:\d+)?$/)
    .describe('Host of a GitHub Enterprise server.')
    .optional(),
});
const extra = z.object({
  repo: z.string().describe('Repository as owner/name.').optional(),
  pr_number: z.string().describe('Number of the pull request or issue.').optional(),
});
type GithubBound = Bound<z.infer<typeof settings>, z.infer<typeof extra>>;

export const githubComment = defineTarget({
  name: 'github_comment',
  title: 'GitHub comment',
  settings,
  extra,
  builtIn: true,
  chat: { about: 'a repository as owner/name', example: 'octo/hello', optional: true },
  thread: { about: 'the number of the pull request or issue', example: '12' },
  env: {},
  limit: { count: 65536, unit: 'code_points' },
  markup: 'gfm',
  problem: (bound) => {
    const place = placeOf(bound);
    return typeof place === 'string' ? place : undefined;
  },
  async send(part, connection) {
    const place = placeOf(connection);
    if (typeof place === 'string') return { kind: 'refused', reason: place };
    const { repo, number } = place;
    // The same call for pull requests and issues: to GitHub every pull request is an issue.
    const path = `repos/${repo}/issues/${number}/comments`;
    const input = JSON.stringify({ body: part.text });
    return gh(connection, ['api', '--method', 'POST', '--input', '-', path], input, 'html_url');
  },
  check: (connection) => gh(connection, ['api', 'user'], undefined, 'login'),
});

function placeOf({ extra, chatId, threadId }: GithubBound): { repo: string; number: string } | string {
  const repo = extra.repo ?? chatId;
  const number = extra.pr_number ?? threadId ?? '';
  if (!REPO.test(repo)) return `deliver_extra.repo must be owner/name, not "${repo.slice(0, 80)}"${OTHERWISE}`;
  if (!NUMBER.test(number))
    return `deliver_extra.pr_number must be a positive number, not "${number.slice(0, 80)}"${OTHERWISE}`;
  return { repo, number };
}

type Surroundings = Pick<Parameters<Parameters<typeof defineTarget>[0]['send']>[1], 'env' | 'signal' | 'timeoutMs'>;

async function gh(
  { settings: own, env, signal, timeoutMs }: Surroundings & { settings: z.infer<typeof settings> },
  args: string[],
  input: string | undefined,
  receiptKey: string,
): Promise<SendOutcome> {
  const outcome = await runProcess({
    command: own.command,
    args: own.host ? [...args, '--hostname', own.host] : args,
    cwd: '/',
    env: { ...pick(env), GH_PROMPT_DISABLED: '1', GH_NO_UPDATE_NOTIFIER: '1', NO_COLOR: '1' },
    timeoutMs,
    maxOutputBytes: 256 * 1024,
    signal,
    ...(input === undefined ? {} : { input }),
  });
  if (outcome.kind === 'not_started')
    return {
      kind: 'refused',
      reason: `${own.command} cannot be started (${outcome.reason}); install gh and run gh auth login`,
    };
  if (outcome.kind !== 'exited') return { kind: 'unknown', reason: `${own.command} did not finish (${outcome.kind})` };
  if (outcome.code === 0) {
    const receipt = textAt(parsed(outcome.stdout), receiptKey);
    return { kind: 'sent', ...(receipt ? { receipt } : {}) };
  }
  return judgeError(outcome.stderr.trim() || outcome.stdout.trim());
}

/** gh ends its message with `(HTTP 404)`; without that it never got an answer. */
function judgeError(message: string): SendOutcome {
  const words = message.replace(/\s+/g, ' ').slice(0, 300);
  const status = Number(/\(HTTP (\d{3})\)/.exec(message)?.[1] ?? 0);
  if (status === 401) return { kind: 'refused', reason: `${words} (run gh auth login again)` };
  const limited = status === 429 || (status === 403 && /rate limit|abuse/i.test(message));
  if (status >= 500 || limited) return { kind: 'failed', reason: words, ...(limited ? { afterMs: 60_000 } : {}) };
  if (status >= 400) return { kind: 'refused', reason: words };
  if (/gh auth login|GH_TOKEN/i.test(message)) return { kind: 'refused', reason: `gh is not logged in: ${words}` };
  if (/dial tcp|no such host|connection refused|certificate/i.test(message)) return { kind: 'failed', reason: words };
  return { kind: 'unknown', reason: words || 'gh failed without a word' };
}

const pick = (env: Surroundings['env']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value !== undefined && PASSED_ON.test(name) ? [[name, value]] : [],
    ),
  );

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
