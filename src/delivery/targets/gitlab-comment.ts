// A comment on a GitLab merge request or issue.

import { z } from 'zod';
import { type Reading, textAt } from '../judge.ts';
import { type Bound, baseUrl, defineTarget } from '../target.ts';

const PROJECT = /^(\d+|[\w.-]+(\/[\w.-]+)+)$/;

const reading: Reading = {
  receipt: (json) => textAt(json, 'id'),
  error: (json) => ({ words: textAt(json, 'message') ?? textAt(json, 'error_description') ?? textAt(json, 'error') }),
};

// Jobs have no deliver_extra.
const OTHERWISE = '; without deliver_extra write gitlab_comment:group/project:!12.';

const settings = z.object({ base_url: baseUrl('https://gitlab.com') });
const extra = z.object({
  project: z.string().describe('Path (group/project) or id of the project.').optional(),
  mr_iid: z.string().describe('Number of the merge request.').optional(),
  issue_iid: z.string().describe('Number of the issue.').optional(),
});
type GitlabBound = Bound<z.infer<typeof settings>, z.infer<typeof extra>>;

export const gitlabComment = defineTarget({
  name: 'gitlab_comment',
  title: 'GitLab comment',
  token: { about: 'An access token with the scope api.' },
  settings,
  extra,
  chat: { about: 'a project as group/project', example: 'group/project', optional: true },
  thread: { about: 'the number of a merge request (!12) or issue (#12)', example: '!12' },
  env: { GITLAB_TOKEN: 'token', GITLAB_URL: 'extra.base_url' },
  limit: { count: 1_000_000, unit: 'code_points' },
  markup: 'gfm',
  problem: (bound) => {
    const place = placeOf(bound);
    return place.startsWith('/') ? undefined : place;
  },
  send: (part, connection) =>
    connection.call(
      placeOf(connection),
      { method: 'POST', headers: { 'private-token': connection.token }, json: { body: part.text } },
      reading,
    ),
  check: ({ call, token }) =>
    call(
      '/api/v4/user',
      { method: 'GET', headers: { 'private-token': token } },
      { ...reading, receipt: (json) => textAt(json, 'username') },
    ),
});

/** The path of the notes, or what is wrong. */
function placeOf({ extra: keys, chatId, threadId }: GitlabBound): string {
  const project = keys.project ?? chatId;
  if (!PROJECT.test(project) || project.split('/').some((name) => /^\.+$/.test(name))) {
    return `deliver_extra.project must be group/project, not "${project.slice(0, 80)}"${OTHERWISE}`;
  }
  const [, sign, fromThread] = /^([!#]?)(\d+)$/.exec(threadId ?? '') ?? [];
  const issue = keys.issue_iid ?? (sign === '#' ? fromThread : undefined);
  const number = issue ?? keys.mr_iid ?? fromThread ?? '';
  if (!/^[1-9]\d{0,8}$/.test(number)) return `deliver_extra.mr_iid or issue_iid must be a positive number${OTHERWISE}`;
  return `/api/v4/projects/${encodeURIComponent(project)}/${issue ? 'issues' : 'merge_requests'}/${number}/notes`;
}
