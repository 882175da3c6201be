// What a hand does on a page: click, type, press, select, scroll. Elements in cross-origin frames are reached on the
// session of their frame, where their coordinates already fit.

import { SvcError } from '../core/errors.ts';
import { keyEvent } from './keys.ts';
import type { ElementHandle } from './page-reader.ts';
import type { Page } from './state.ts';
import type { Supervisor } from './supervisor.ts';

export interface ClickOptions {
  double: boolean;
  button: 'left' | 'right' | 'middle';
}

/** Presses and releases at the middle of the element; an element without a box is clicked by script. */
export async function click(supervisor: Supervisor, element: ElementHandle, options: ClickOptions): Promise<void> {
  const { objectId, sessionId } = element;
  const point = await middleOf(supervisor, element);
  if (point === undefined) {
    await callOn(supervisor, element, 'function () { this.click(); }');
    return;
  }
  await supervisor.call('Input.dispatchMouseEvent', { type: 'mouseMoved', ...point }, { sessionId });
  const clicks = options.double ? [1, 2] : [1];
  // Written together: the press may open a dialog, and then nothing is answered until that is closed.
  const sent = clicks.flatMap((clickCount) =>
    (['mousePressed', 'mouseReleased'] as const).map((type) => {
      const params = { type, ...point, button: options.button, clickCount };
      return supervisor.call('Input.dispatchMouseEvent', params, { sessionId, deadlineMs: 0 });
    }),
  );
  await Promise.all(sent);
  supervisor.call('Runtime.releaseObject', { objectId }, { sessionId }).catch(() => {});
}

export interface TypeOptions {
  /** Replaces what the field holds. */
  clear: boolean;
}

export async function type(
  supervisor: Supervisor,
  element: ElementHandle,
  text: string,
  options: TypeOptions,
): Promise<void> {
  const prepared = await callOn(supervisor, element, PREPARE_FIELD, [text, options.clear]);
  if (prepared === 'not_editable') {
    const help = 'Pick a textbox of the snapshot, or use browser_select for lists and browser_click for boxes.';
    throw new SvcError('invalid_input', 'This element takes no text.', { help });
  }
  if (prepared === 'done' || text === '') return;
  await supervisor.call('Input.insertText', { text }, { sessionId: element.sessionId, deadlineMs: 0 });
}

/** Sends a key to whatever has the focus. The page's own session passes it on to a focused cross-origin frame. */
export async function press(supervisor: Supervisor, page: Page, key: string): Promise<void> {
  const event = keyEvent(key);
  const options = { sessionId: page.sessionId, deadlineMs: 0 };
  const down = { ...event, type: event.text === undefined ? ('rawKeyDown' as const) : ('keyDown' as const) };
  const { text: _text, ...up } = event;
  await Promise.all([
    supervisor.call('Input.dispatchKeyEvent', down, options),
    supervisor.call('Input.dispatchKeyEvent', { ...up, type: 'keyUp' }, options),
  ]);
}

export async function focus(supervisor: Supervisor, { objectId, sessionId }: ElementHandle): Promise<void> {
  await supervisor.call('DOM.focus', { objectId }, { sessionId });
}

/** Chooses options by value or by their visible text. Resolves with the texts that are selected now. */
export async function select(
  supervisor: Supervisor,
  element: ElementHandle,
  values: readonly string[],
): Promise<unknown> {
  const chosen = (await callOn(supervisor, element, CHOOSE_OPTIONS, [values])) as {
    selected?: string[];
    missing?: string[];
  };
  if (chosen?.selected !== undefined) return chosen.selected;
  const help =
    chosen?.missing === undefined
      ? 'Pick a combobox of the snapshot; lists that are not select elements are opened and chosen with browser_click.'
      : `It offers: ${chosen.missing.map((one) => JSON.stringify(one)).join(', ')}.`;
  throw new SvcError('invalid_input', 'There is no such option to select.', { help });
}

export const SCROLL_DIRECTIONS = ['up', 'down', 'left', 'right', 'top', 'bottom'] as const;
export type ScrollDirection = (typeof SCROLL_DIRECTIONS)[number];

/** Scrolls the page, or the element and what it lies in. Resolves with the new position. */
export async function scroll(
  supervisor: Supervisor,
  where: Page | ElementHandle,
  direction: ScrollDirection | undefined,
  pixels: number | undefined,
): Promise<unknown> {
  if ('objectId' in where) return callOn(supervisor, where, SCROLL_ELEMENT, [direction ?? null, pixels ?? null]);
  const expression = `(${SCROLL_PAGE})(${JSON.stringify(direction ?? 'down')}, ${JSON.stringify(pixels ?? null)})`;
  const params = { expression, returnByValue: true };
  const { result } = await supervisor.call('Runtime.evaluate', params, { sessionId: where.sessionId });
  return result.value;
}

async function middleOf(
  supervisor: Supervisor,
  { objectId, sessionId }: ElementHandle,
): Promise<{ x: number; y: number } | undefined> {
  try {
    await supervisor.call('DOM.scrollIntoViewIfNeeded', { objectId }, { sessionId });
    const { quads } = await supervisor.call('DOM.getContentQuads', { objectId }, { sessionId });
    for (const [x1 = 0, y1 = 0, x2 = 0, y2 = 0, x3 = 0, y3 = 0, x4 = 0, y4 = 0] of quads) {
      const area = Math.abs((x1 * y2 - x2 * y1 + x2 * y3 - x3 * y2 + x3 * y4 - x4 * y3 + x4 * y1 - x1 * y4) / 2);
      if (area >= 1) return { x: (x1 + x2 + x3 + x4) / 4, y: (y1 + y2 + y3 + y4) / 4 };
    }
    return undefined;
  } catch (error) {
    // "Node does not have a layout object" and the like: it has no box.
    if (error instanceof SvcError && error.code === 'cdp_error' && /layout|quads|not visible/i.test(error.message))
      return undefined;
    throw error;
  }
}

async function callOn(
  supervisor: Supervisor,
  { objectId, sessionId }: ElementHandle,
  functionDeclaration: string,
  values: readonly unknown[] = [],
): Promise<unknown> {
  const params = {
    objectId,
    functionDeclaration,
    arguments: values.map((value) => ({ value })),
    returnByValue: true,
    userGesture: true,
  };
  const { result } = await supervisor.call('Runtime.callFunctionOn', params, { sessionId, deadlineMs: 0 });
  return result.value;
}

// Focuses the field and selects what is to be replaced. Fields that take no keystrokes get their value set directly.
const PREPARE_FIELD = `function (text, clear) {
  this.scrollIntoViewIfNeeded?.();
  const direct = ['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range'];
  const isInput = this instanceof HTMLInputElement, isArea = this instanceof HTMLTextAreaElement;
  if (isInput && ['checkbox', 'radio', 'button', 'submit', 'reset', 'file', 'image', 'hidden'].includes(this.type)) return 'not_editable';
  if (!isInput && !isArea && !this.isContentEditable) return 'not_editable';
  this.focus();
  const set = (value) => {
    const proto = isArea ? HTMLTextAreaElement.prototype : HTMLInputElement.prototype;
    Object.getOwnPropertyDescriptor(proto, 'value').set.call(this, value);
    this.dispatchEvent(new Event('input', { bubbles: true }));
    this.dispatchEvent(new Event('change', { bubbles: true }));
  };
  if (isInput && direct.includes(this.type)) { set(text); return 'done'; }
  if (isInput || isArea) {
    if (clear && text === '') { set(''); return 'done'; }
    if (clear) this.select();
    else try { this.setSelectionRange(this.value.length, this.value.length); } catch {}
    return 'ready';
  }
  const range = document.createRange();
  range.selectNodeContents(this);
  if (!clear) range.collapse(false);
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
  if (clear && text === '') { document.execCommand('delete'); return 'done'; }
  return 'ready';
}`;

const CHOOSE_OPTIONS = `function (values) {
  if (!(this instanceof HTMLSelectElement)) return {};
  const label = (option) => option.label.replace(/\\s+/g, ' ').trim();
  const options = [...this.options];
  const wanted = values.map((value) => options.find((option) => option.value === value) ?? options.find((option) => label(option) === value.trim()));
  if (wanted.includes(undefined) || (wanted.length > 1 && !this.multiple)) return { missing: options.slice(0, 50).map(label) };
  for (const option of options) option.selected = wanted.includes(option);
  this.dispatchEvent(new Event('input', { bubbles: true }));
  this.dispatchEvent(new Event('change', { bubbles: true }));
  return { selected: [...this.selectedOptions].map(label) };
}`;

const SCROLL_ELEMENT = `function (direction, pixels) {
  if (direction === null) { this.scrollIntoView({ block: 'center', behavior: 'instant' }); return { x: scrollX, y: scrollY }; }
  let box = this;
  const fits = (one) => /auto|scroll/.test(getComputedStyle(one).overflow) && (one.scrollHeight > one.clientHeight || one.scrollWidth > one.clientWidth);
  while (box.parentElement && !fits(box)) box = box.parentElement;
  const step = { x: pixels ?? box.clientWidth * 0.8, y: pixels ?? box.clientHeight * 0.8 };
  if (direction === 'top') box.scrollTop = 0;
  else if (direction === 'bottom') box.scrollTop = box.scrollHeight;
  else box.scrollBy({ left: direction === 'left' ? -step.x : direction === 'right' ? step.x : 0, top: direction === 'up' ? -step.y : direction === 'down' ? step.y : 0, behavior: 'instant' });
  return { x: box.scrollLeft, y: box.scrollTop };
}`;

const SCROLL_PAGE = `(direction, pixels) => {
  const step = { x: pixels ?? innerWidth * 0.8, y: pixels ?? innerHeight * 0.8 };
  const height = document.documentElement.scrollHeight;
  if (direction === 'top') scrollTo({ top: 0, behavior: 'instant' });
  else if (direction === 'bottom') scrollTo({ top: height, behavior: 'instant' });
  else scrollBy({ left: direction === 'left' ? -step.x : direction === 'right' ? step.x : 0, top: direction === 'up' ? -step.y : direction === 'down' ? step.y : 0, behavior: 'instant' });
  return { x: Math.round(scrollX), y: Math.round(scrollY), page_height: height, window_height: innerHeight };
}`;
