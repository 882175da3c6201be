// The targets, one line each.

import { canonicalTarget, spellingsOf } from '../core/names.ts';
import { nearest } from '../core/nearest.ts';
import type { Target } from './target.ts';
import { bluebubbles } from './targets/bluebubbles.ts';
import { dingtalk } from './targets/dingtalk.ts';
import { discord } from './targets/discord.ts';
import { email } from './targets/email.ts';
import { feishu } from './targets/feishu.ts';
import { githubComment } from './targets/github-comment.ts';
import { gitlabComment } from './targets/gitlab-comment.ts';
import { homeassistant } from './targets/homeassistant.ts';
import { local } from './targets/local.ts';
import { log } from './targets/log.ts';
import { matrix } from './targets/matrix.ts';
import { mattermost } from './targets/mattermost.ts';
import { ntfy } from './targets/ntfy.ts';
import { qqbot } from './targets/qqbot.ts';
import { signal } from './targets/signal.ts';
import { slack } from './targets/slack.ts';
import { sms } from './targets/sms.ts';
import { teams } from './targets/teams.ts';
import { telegram } from './targets/telegram.ts';
import { webhook } from './targets/webhook.ts';
import { wecom } from './targets/wecom.ts';
import { weixin } from './targets/weixin.ts';
import { whatsapp } from './targets/whatsapp.ts';

export const targets: readonly Target[] = [
  log,
  local,
  githubComment,
  telegram,
  discord,
  slack,
  signal,
  sms,
  whatsapp,
  matrix,
  mattermost,
  homeassistant,
  email,
  dingtalk,
  feishu,
  wecom,
  weixin,
  bluebubbles,
  qqbot,
  webhook,
  ntfy,
  teams,
  gitlabComment,
];

/** By any spelling. */
export function findTarget(name: string, known: readonly Target[] = targets): Target | undefined {
  const canonical = canonicalTarget(name);
  return known.find((target) => target.name === canonical);
}

/** The sentence for a name that nobody has. */
export function unknownTarget(name: string, known: readonly Target[] = targets): string {
  if (name === 'origin') return 'origin is the chat in which a job was made; here there is none. Name a target.';
  const meant = nearest(
    name,
    known.flatMap((target) => spellingsOf(target.name)),
  );
  const hint = meant ? `Did you mean ${meant}?` : '`svc platforms list` shows all of them.';
  return `There is no target "${name.slice(0, 40)}". ${hint}`;
}
