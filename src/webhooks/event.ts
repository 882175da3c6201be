// Which event a request is about, and whether a route takes it.

import { cutText, type Json, valueAt } from '../core/json.ts';
import { headerValue } from '../core/names.ts';
import type { RequestHeaders, Scheme } from './schemes.ts';

export interface EventType {
  /** As the sender wrote it; this is what answers echo. */
  name: string;
  /** Other names of the same event that a route may list. */
  aliases: readonly string[];
  /** The code host's greeting when a webhook is created: ignored unless a route lists it. */
  greeting: boolean;
}

const MAX_LENGTH = 200;

/** The scheme's own place first, then the code hosts' headers, then the payload's `event_type`. */
export function eventType(scheme: Scheme | undefined, headers: RequestHeaders, payload: Json): EventType {
  const own = scheme?.eventHeader && headerValue(headers, scheme.eventHeader);
  if (own) return plain(own);
  const github = headerValue(headers, 'x-github-event');
  if (github) return { name: bounded(github), aliases: [], greeting: github === 'ping' };
  const gitlab = headerValue(headers, 'x-gitlab-event');
  if (gitlab) return { name: bounded(gitlab), aliases: gitlabAliases(gitlab, payload), greeting: false };
  const named = valueAt(payload, ['event_type']);
  if (typeof named === 'string' && named !== '') return plain(named);
  const field = scheme?.eventField && valueAt(payload, scheme.eventField);
  return plain(typeof field === 'string' && field !== '' ? field : 'unknown');
}

/** An empty list takes everything but the greeting. */
export function takesEvent(events: readonly string[], event: EventType): boolean {
  if (events.length === 0) return !event.greeting;
  return events.some((wanted) => wanted === event.name || event.aliases.includes(wanted));
}

const plain = (name: string): EventType => ({ name: bounded(name), aliases: [], greeting: false });

const bounded = (name: string): string => cutText(name, MAX_LENGTH).text;

/** `Merge Request Hook` and `merge_request` are one event; the payload may call it differently again (`Job Hook` is `build`). */
function gitlabAliases(header: string, payload: Json): string[] {
  const words = header
    .replace(/ Hook$/, '')
    .toLowerCase()
    .split(/[ _]/);
  const hook = [...words, 'hook'].map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join(' ');
  const kind = valueAt(payload, ['object_kind']);
  return [words.join('_'), hook, ...(typeof kind === 'string' ? [kind] : [])];
}
