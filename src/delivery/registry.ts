// The targets, one line each.

import { canonicalTarget, spellingsOf } from '../core/names.ts';
import { nearest } from '../core/nearest.ts';
import type { Target } from './target.ts';
import { githubComment } from './targets/github-comment.ts';
import { local } from './targets/local.ts';
import { log } from './targets/log.ts';
import { telegram } from './targets/telegram.ts';

export const targets: readonly Target[] = [log, local, githubComment, telegram];

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
