// The address of a model server as people write it, and as the API wants it.

const VERSION = /^v\d+[a-z]*$/;

/** With a version at the end: `/v1` is added unless the path names one already. */
export function apiBase(baseUrl: string): string {
  const url = new URL(baseUrl);
  const segments = url.pathname.split('/').filter((segment) => segment !== '');
  // What gets pasted is often the whole address of the call.
  if (segments.at(-1) === 'completions') segments.splice(segments.at(-2) === 'chat' ? -2 : -1);
  if (segments.at(-1) === 'models') segments.pop();
  if (!segments.some((segment) => VERSION.test(segment))) segments.push('v1');
  return `${url.origin}/${segments.join('/')}`;
}

/** Scheme, host and port: what may be shown, also when the address holds a password. */
export const originOf = (baseUrl: string): string => URL.parse(baseUrl)?.origin ?? 'an unreadable address';
