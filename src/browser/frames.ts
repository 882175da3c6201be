// The frame tree of each page: local frames by their events, cross-origin frames by their sessions, joined by frame id.

import type { Protocol } from 'devtools-protocol';
import type { FrameTree } from './cdp/protocol.ts';
import { dialogsLost } from './dialogs.ts';
import { dropSessions, frameTreeOf, newFrame, originOf } from './sessions.ts';
import type { BrowserState, Change, Frame, Page, Session } from './state.ts';
import { unchanged, withEntry, withPage } from './state.ts';

export function frameAttached(
  state: BrowserState,
  page: Page,
  session: Session,
  { frameId, parentFrameId }: Protocol.Page.FrameAttachedEvent,
): BrowserState {
  const old = page.frames.get(frameId);
  const frame = { ...newFrame(frameId, parentFrameId, session.id, old?.url ?? ''), loaderId: old?.loaderId ?? '' };
  return withPage(state, { ...page, frames: withEntry(page.frames, frameId, frame) });
}

export function frameNavigated(
  state: BrowserState,
  page: Page,
  session: Session,
  { frame, type }: Protocol.Page.FrameNavigatedEvent,
  at: number,
): Change {
  const isRoot = session.kind === 'page' && frame.parentId === undefined;
  const restored = type === 'BackForwardCacheRestore';
  const old = page.frames.get(frame.id);
  // A new document has no children yet, and those of the old one may never be heard of again. A restored one has: its
  // cross-origin frames were attached just before this, and its local ones are asked for below.
  const keep = restored || old?.loaderId === frame.loaderId;
  const left = keep ? unchanged(state) : dropChildren(state, page, frame.id, isRoot, at);
  const current = left.state.pages.get(page.id) ?? page;
  const navigated = frameFrom(frame, session, old);
  if (!isRoot) {
    return {
      ...left,
      state: withPage(left.state, { ...current, frames: withEntry(current.frames, frame.id, navigated) }),
    };
  }
  const next: Page = {
    ...current,
    rootFrameId: frame.id,
    frames: withEntry(current.frames, frame.id, navigated),
    loading: restored ? 'done' : 'document',
    crashed: false,
    leaving: false,
    answers: { kind: 'yes' },
  };
  // A restored document announces none of its frames.
  const ask = restored ? [frameTreeOf(session.id)] : [];
  return { state: withPage(left.state, next), commands: [...left.commands, ...ask] };
}

export function frameMovedWithin(state: BrowserState, page: Page, frameId: string, url: string): BrowserState {
  const frame = page.frames.get(frameId);
  if (frame === undefined) return state;
  return withPage(state, { ...page, frames: withEntry(page.frames, frameId, { ...frame, url }) });
}

export function frameDetached(
  state: BrowserState,
  page: Page,
  { frameId, reason }: Protocol.Page.FrameDetachedEvent,
  at: number,
): Change {
  // `swap`: the frame moved to another process and lives on in a session of its own.
  if (reason === 'swap' || frameId === page.rootFrameId) return unchanged(state);
  const children = dropChildren(state, page, frameId, false, at);
  const own = sessionsOf(children.state, new Set([frameId]));
  const dropped = dropSessions(children.state, own, 'its frame was removed', at);
  const current = dropped.state.pages.get(page.id) ?? page;
  const frames = new Map(current.frames);
  frames.delete(frameId);
  return {
    state: withPage(dropped.state, { ...current, frames }),
    commands: [...children.commands, ...dropped.commands],
  };
}

/** The answer to `Page.getFrameTree`: the whole truth about the local frames of one session. */
export function frameTreeKnown(state: BrowserState, page: Page, session: Session, tree: FrameTree): BrowserState {
  const isLocal = (frame: Frame) => frame.sessionId === session.id && !frame.isOopif;
  const frames = new Map([...page.frames].filter(([, frame]) => !isLocal(frame)));
  const visit = ({ frame, childFrames }: FrameTree) => {
    const known = page.frames.get(frame.id);
    if (known === undefined || known.sessionId === session.id) frames.set(frame.id, frameFrom(frame, session, known));
    childFrames?.forEach(visit);
  };
  visit(tree);
  if (session.kind !== 'page') return withPage(state, { ...page, frames });
  // A document that came while nobody listened yet.
  const isNew = page.frames.get(tree.frame.id)?.loaderId !== tree.frame.loaderId;
  return withPage(state, {
    ...page,
    frames,
    rootFrameId: tree.frame.id,
    answers: { kind: 'yes' },
    leaving: page.leaving && !isNew,
  });
}

function frameFrom(frame: Protocol.Page.Frame, session: Session, old: Frame | undefined): Frame {
  const url = `${frame.url}${frame.urlFragment ?? ''}`;
  return {
    id: frame.id,
    parentId: frame.parentId ?? old?.parentId,
    url,
    origin: frame.securityOrigin && frame.securityOrigin !== '://' ? frame.securityOrigin : originOf(url),
    loaderId: frame.loaderId,
    sessionId: session.id,
    isOopif: session.kind === 'iframe' && session.targetId === frame.id,
  };
}

/** Removes everything below a frame, and the dialogs that its old document had open. */
function dropChildren(state: BrowserState, page: Page, frameId: string, isRoot: boolean, at: number): Change {
  const below = new Set<string>();
  if (isRoot) for (const id of page.frames.keys()) below.add(id);
  else {
    // Frames are entered after their parents, except those that moved to another process: look until nothing is new.
    const isBelow = (frame: Frame) => frame.parentId === frameId || below.has(frame.parentId ?? '');
    for (let size = -1; size !== below.size; ) {
      size = below.size;
      for (const frame of page.frames.values()) if (isBelow(frame)) below.add(frame.id);
    }
  }
  below.delete(frameId);
  const dropped = dropSessions(state, sessionsOf(state, below), 'the page navigated away', at);
  const isLost = (dialogFrameId: string | undefined) =>
    isRoot || dialogFrameId === frameId || (dialogFrameId !== undefined && below.has(dialogFrameId));
  const lost = dialogsLost(dropped.state, (dialog) => dialog.pageId === page.id && isLost(dialog.frameId), at);
  const current = lost.pages.get(page.id) ?? page;
  const frames = new Map([...current.frames].filter(([id]) => !below.has(id)));
  return { state: withPage(lost, { ...current, frames }), commands: dropped.commands };
}

function sessionsOf(state: BrowserState, frameIds: ReadonlySet<string>): string[] {
  return [...state.sessions.values()]
    .filter((session) => session.kind === 'iframe' && frameIds.has(session.targetId))
    .map(({ id }) => id);
}
