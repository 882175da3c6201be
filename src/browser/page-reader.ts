// Reads a tab as text, frame by frame, each in its own session and with its own deadline, and joins the frames at their
// place. A frame that a dialog blocks is not asked: its last text stands there, marked. Also turns refs into elements.

import { SvcError } from '../core/errors.ts';
import { PAGE_SCRIPT } from './page-script.ts';
import { answerableDialogs } from './snapshot.ts';
import type { BrowserState, Dialog, Frame, Page } from './state.ts';
import type { Supervisor } from './supervisor.ts';

export interface PageText {
  text: string;
  truncated: boolean;
}

/** An element that a ref stands for. */
export interface ElementHandle {
  objectId: string;
  sessionId: string;
  page: Page;
}

/** A document we have read: its number is in every ref, so that a ref never means an element of another document. */
interface ReadDocument {
  number: number;
  frameId: string;
  pageId: string;
  loaderId: string;
  sessionId: string;
  contextId: number;
}

interface FramePart {
  text: string;
  indent: string;
}

/** The text of one frame without that of the frames in it: child i stands between parts i and i+1. */
interface FrameRead {
  parts: FramePart[];
  truncated: boolean;
  childIds: (string | undefined)[];
}

const FRAME_DEADLINE_MS = 2000;
const MAX_FRAMES = 60;
const MAX_CHARS = 1_000_000;
const WORLD = 'svc';

export class PageReader {
  #supervisor: Supervisor;
  #documents = new Map<string, ReadDocument>();
  #lastReads = new Map<string, FrameRead>();
  #count = 0;

  constructor(supervisor: Supervisor) {
    this.#supervisor = supervisor;
  }

  /** Never rejects for a page that does not answer: what is missing is said at its place. */
  async read(page: Page): Promise<PageText> {
    this.#forgetGone();
    const root = page.frames.get(page.rootFrameId);
    if (root === undefined) return { text: '(an empty page)', truncated: false };
    const budget = { frames: MAX_FRAMES, truncated: false };
    const text = await this.#readFrame(page, root, budget);
    return { text, truncated: budget.truncated };
  }

  /** Rejects with `not_found` when the ref is unknown, its page is gone or its element left the page. */
  async element(ref: string): Promise<ElementHandle> {
    const { document, elementNumber } = this.#find(ref);
    const page = document && this.#supervisor.state.pages.get(document.pageId);
    const frame = page?.frames.get(document?.frameId ?? '');
    if (document === undefined || page === undefined || frame?.loaderId !== document.loaderId) throw stale(ref);
    const { result } = await this.#supervisor
      .call(
        'Runtime.evaluate',
        { expression: `svcPage.element(${elementNumber})`, contextId: document.contextId },
        { sessionId: document.sessionId },
      )
      .catch((error) => {
        throw isContextGone(error) ? stale(ref) : error;
      });
    if (result.objectId === undefined) throw stale(ref);
    return { objectId: result.objectId, sessionId: document.sessionId, page };
  }

  /** The session of the frame that a ref was read in, or undefined for a ref that never was. */
  sessionOf(ref: string): string | undefined {
    return this.#find(ref).document?.sessionId;
  }

  #find(ref: string): { document: ReadDocument | undefined; elementNumber: number } {
    const [, documentNumber, elementNumber] = /^\[?f(\d+)e(\d+)\]?$/.exec(ref.trim()) ?? [];
    const document = [...this.#documents.values()].find(({ number }) => number === Number(documentNumber));
    return { document, elementNumber: Number(elementNumber) };
  }

  async #readFrame(page: Page, frame: Frame, budget: Budget): Promise<string> {
    if (budget.frames-- <= 0) {
      budget.truncated = true;
      return '(not read: too many frames; use browser_cdp with its frame_id)';
    }
    const blocker = blockingDialog(this.#supervisor.state, page.id, frame.sessionId);
    if (blocker !== undefined) return this.#readAround(page, frame, `blocked by dialog ${blocker.id}`, budget);
    let blockedBy: Dialog | undefined;
    const watch = this.#supervisor.watch((state) => {
      blockedBy = blockingDialog(state, page.id, frame.sessionId);
      return blockedBy !== undefined;
    }, FRAME_DEADLINE_MS);
    const read = this.#ask(page, frame)
      .catch((error) => {
        // The page wrote itself anew without becoming another document: its old world is gone with our script.
        if (!isContextGone(error)) throw error;
        this.#documents.delete(frame.id);
        return this.#ask(page, frame);
      })
      .catch(() => undefined);
    const outcome = await Promise.race([read, watch.fits.then(() => 'blocked' as const)]);
    watch.stop();
    if (outcome === 'blocked' || outcome === undefined) {
      const silence = outcome === undefined ? 'could not be read' : 'did not answer in time';
      return this.#readAround(page, frame, blockedBy ? `blocked by dialog ${blockedBy.id}` : silence, budget);
    }
    if (outcome.truncated) budget.truncated = true;
    this.#lastReads.set(frame.id, outcome);
    return this.#withChildren(page, outcome, budget);
  }

  /** A frame that cannot be asked: what it said before, around the frames in other processes, which still answer. */
  async #readAround(page: Page, frame: Frame, why: string, budget: Budget): Promise<string> {
    const old = this.#lastReads.get(frame.id);
    if (old !== undefined) {
      return `(${why}; what stood here before:)\n${await this.#withChildren(page, old, budget)}`;
    }
    const isElsewhere = (child: Frame) => child.parentId === frame.id && child.sessionId !== frame.sessionId;
    const childIds = [...page.frames.values()].filter(isElsewhere).map(({ id }) => id);
    const parts = [{ text: `(${why})`, indent: '' }, ...childIds.map(() => ({ text: '', indent: '' }))];
    return this.#withChildren(page, { parts, truncated: false, childIds }, budget);
  }

  async #withChildren(page: Page, read: FrameRead, budget: Budget): Promise<string> {
    const children = await Promise.all(
      read.childIds.map(async (childId) => {
        const child = this.#supervisor.state.pages.get(page.id)?.frames.get(childId ?? '');
        return child === undefined ? '(an empty frame)' : this.#readFrame(page, child, budget);
      }),
    );
    return join(read.parts, children);
  }

  async #ask(page: Page, frame: Frame): Promise<FrameRead> {
    const document = await this.#document(page, frame);
    const { sessionId, contextId } = document;
    const options = { sessionId, deadlineMs: FRAME_DEADLINE_MS };
    const expression = `svcPage.read('f${document.number}', ${MAX_CHARS})`;
    const { result } = await this.#supervisor.call(
      'Runtime.evaluate',
      { expression, contextId, returnByValue: true },
      options,
    );
    const { parts, truncated } = result.value as { parts: FramePart[]; truncated: boolean };
    const childIds = parts.length > 1 ? await this.#frameIds(document, parts.length - 1) : [];
    return { parts, truncated, childIds };
  }

  /** Which frame each iframe element holds. */
  async #frameIds({ sessionId, contextId }: ReadDocument, count: number): Promise<(string | undefined)[]> {
    const options = { sessionId, deadlineMs: FRAME_DEADLINE_MS };
    const call = this.#supervisor.call.bind(this.#supervisor);
    const { result: list } = await call('Runtime.evaluate', { expression: 'svcPage.frames()', contextId }, options);
    const properties = await call(
      'Runtime.getProperties',
      { objectId: list.objectId ?? '', ownProperties: true },
      options,
    );
    const objectIds = new Map(properties.result.map(({ name, value }) => [name, value?.objectId]));
    const ids = Array.from({ length: Math.min(count, MAX_FRAMES) }, async (_, index) => {
      const { node } = await call('DOM.describeNode', { objectId: objectIds.get(String(index)) ?? '' }, options);
      return node.frameId;
    });
    return Promise.all(ids.map((id) => id.catch(() => undefined)));
  }

  async #document(page: Page, frame: Frame): Promise<ReadDocument> {
    const known = this.#documents.get(frame.id);
    if (known !== undefined && known.loaderId === frame.loaderId && known.sessionId === frame.sessionId) return known;
    const options = { sessionId: frame.sessionId, deadlineMs: FRAME_DEADLINE_MS };
    const params = { frameId: frame.id, worldName: WORLD };
    const world = await this.#supervisor.call('Page.createIsolatedWorld', params, options);
    const contextId = world.executionContextId;
    await this.#supervisor.call('Runtime.evaluate', { expression: `${PAGE_SCRIPT}0`, contextId }, options);
    const document: ReadDocument = {
      number: ++this.#count,
      frameId: frame.id,
      pageId: page.id,
      loaderId: frame.loaderId,
      sessionId: frame.sessionId,
      contextId,
    };
    this.#documents.set(frame.id, document);
    return document;
  }

  #forgetGone(): void {
    const { pages } = this.#supervisor.state;
    const isThere = (frameId: string) => [...pages.values()].some((page) => page.frames.has(frameId));
    for (const frameId of this.#lastReads.keys()) if (!isThere(frameId)) this.#lastReads.delete(frameId);
    for (const frameId of this.#documents.keys()) if (!isThere(frameId)) this.#documents.delete(frameId);
  }
}

interface Budget {
  frames: number;
  truncated: boolean;
}

/** The dialog that keeps the process behind this session from answering, if there is one. */
export function blockingDialog(state: BrowserState, pageId: string, sessionId: string): Dialog | undefined {
  const page = state.pages.get(pageId);
  return answerableDialogs(state).find((dialog) => {
    if (dialog.pageId !== pageId) return false;
    const owner =
      dialog.source.kind === 'bridge' ? dialog.sessionId : page?.frames.get(dialog.frameId ?? '')?.sessionId;
    return (owner ?? page?.sessionId) === sessionId;
  });
}

function join(parts: readonly FramePart[], children: readonly string[]): string {
  const pieces: string[] = [];
  parts.forEach((part, index) => {
    if (part.text !== '') pieces.push(part.text);
    const child = children[index];
    if (child !== undefined) pieces.push(indentBy(child, `${part.indent}  `));
  });
  return pieces.join('\n');
}

const indentBy = (text: string, indent: string): string => text.replace(/^(?=.)/gm, indent);

function stale(ref: string): SvcError {
  const help = 'Take a new browser_snapshot and use a ref from it.';
  return new SvcError('not_found', `No element has the ref ${ref} any more.`, { help });
}

const isContextGone = (error: unknown): boolean =>
  error instanceof SvcError && /Cannot find context|Session with given id|svcPage is not defined/.test(error.message);
