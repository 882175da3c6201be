// The part of the debugging protocol that the supervisor listens to. What a browser sends is checked here, field by
// field, so that a malformed message is dropped at the door and the rules behind it can trust their input.

import type { Protocol } from 'devtools-protocol';
import type { ProtocolMapping } from 'devtools-protocol/types/protocol-mapping.js';

type Commands = ProtocolMapping.Commands;
type Events = ProtocolMapping.Events;
export type CommandName = keyof Commands;
export type CommandParams<M extends CommandName> = Commands[M]['paramsType'] extends []
  ? undefined
  : Commands[M]['paramsType'][0];
export type CommandResult<M extends CommandName> = Commands[M]['returnType'];
export type FrameTree = Protocol.Page.FrameTree;

type Guard = (value: unknown) => boolean;
const text: Guard = (value) => typeof value === 'string';
const flag: Guard = (value) => typeof value === 'boolean';
const list: Guard = Array.isArray;
const maybe =
  (guard: Guard): Guard =>
  (value) =>
    value === undefined || guard(value);
const shape =
  (fields: Record<string, Guard>): Guard =>
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(fields).every(([name, guard]) => guard((value as Record<string, unknown>)[name]));

const frame = shape({ id: text, parentId: maybe(text), loaderId: text, url: text, securityOrigin: maybe(text) });

// Only the fields that the rules read are checked.
const EVENTS = {
  'Target.attachedToTarget': shape({
    sessionId: text,
    waitingForDebugger: flag,
    targetInfo: shape({ targetId: text, type: text, url: text, parentFrameId: maybe(text), openerId: maybe(text) }),
  }),
  'Target.detachedFromTarget': shape({ sessionId: text }),
  'Inspector.targetCrashed': () => true,
  'Page.javascriptDialogOpening': shape({
    type: (value) => value === 'alert' || value === 'confirm' || value === 'prompt' || value === 'beforeunload',
    message: text,
    url: text,
    frameId: maybe(text),
    defaultPrompt: maybe(text),
    hasBrowserHandler: maybe(flag),
  }),
  'Page.javascriptDialogClosed': shape({ result: flag, frameId: maybe(text) }),
  'Page.frameAttached': shape({ frameId: text, parentFrameId: text }),
  'Page.frameDetached': shape({ frameId: text, reason: maybe(text) }),
  'Page.frameNavigated': shape({ frame, type: maybe(text) }),
  'Page.navigatedWithinDocument': shape({ frameId: text, url: text }),
  'Page.frameStartedLoading': shape({ frameId: text }),
  'Page.frameStoppedLoading': shape({ frameId: text }),
  'Page.domContentEventFired': () => true,
  'Runtime.consoleAPICalled': shape({ type: text, args: list }),
  'Runtime.exceptionThrown': shape({ exceptionDetails: shape({ text }) }),
  'Log.entryAdded': shape({ entry: shape({ source: text, level: text, text }) }),
  'Fetch.requestPaused': shape({ requestId: text, request: shape({ url: text }), frameId: maybe(text) }),
} satisfies Partial<Record<keyof Events, Guard>>;

type KnownMethod = keyof typeof EVENTS;

/** An event that passed its check. `Page.javascriptDialogClosed` of older browsers comes without `frameId`. */
export type CdpEvent = {
  [M in KnownMethod]: { method: M; params: Events[M] extends [infer P] ? P : undefined };
}[KnownMethod];

/** The event as the rules know it, or undefined when nobody listens to it or it is malformed. */
export function readEvent(method: string, params: unknown): CdpEvent | undefined {
  if (!Object.hasOwn(EVENTS, method)) return undefined;
  return EVENTS[method as KnownMethod](params) ? ({ method, params } as CdpEvent) : undefined;
}

const frameTree: Guard = shape({
  frame,
  childFrames: maybe((value) => Array.isArray(value) && value.every(frameTree)),
});

/** The tree in a reply to `Page.getFrameTree`, or undefined when the reply holds none. */
export function readFrameTree(result: unknown): FrameTree | undefined {
  if (!shape({ frameTree })(result)) return undefined;
  return (result as { frameTree: FrameTree }).frameTree;
}
