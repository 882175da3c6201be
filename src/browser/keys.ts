// Names of keys, as people and pages write them, to what the protocol wants to hear.

import type { Protocol } from 'devtools-protocol';
import { SvcError } from '../core/errors.ts';

type KeyEvent = Omit<Protocol.Input.DispatchKeyEventRequest, 'type'>;

const MODIFIERS: Readonly<Record<string, { bit: number; code: string; keyCode: number }>> = {
  alt: { bit: 1, code: 'AltLeft', keyCode: 18 },
  control: { bit: 2, code: 'ControlLeft', keyCode: 17 },
  ctrl: { bit: 2, code: 'ControlLeft', keyCode: 17 },
  meta: { bit: 4, code: 'MetaLeft', keyCode: 91 },
  shift: { bit: 8, code: 'ShiftLeft', keyCode: 16 },
};

const NAMED: Readonly<Record<string, { key: string; keyCode: number; text?: string }>> = {
  enter: { key: 'Enter', keyCode: 13, text: '\r' },
  tab: { key: 'Tab', keyCode: 9 },
  escape: { key: 'Escape', keyCode: 27 },
  backspace: { key: 'Backspace', keyCode: 8 },
  delete: { key: 'Delete', keyCode: 46 },
  insert: { key: 'Insert', keyCode: 45 },
  home: { key: 'Home', keyCode: 36 },
  end: { key: 'End', keyCode: 35 },
  pageup: { key: 'PageUp', keyCode: 33 },
  pagedown: { key: 'PageDown', keyCode: 34 },
  arrowleft: { key: 'ArrowLeft', keyCode: 37 },
  arrowup: { key: 'ArrowUp', keyCode: 38 },
  arrowright: { key: 'ArrowRight', keyCode: 39 },
  arrowdown: { key: 'ArrowDown', keyCode: 40 },
  space: { key: ' ', keyCode: 32, text: ' ' },
};

/** `Enter`, `a`, `F5`, `Control+Shift+K`. Throws `invalid_input` for a name it does not know. */
export function keyEvent(text: string): KeyEvent {
  // A lone plus is a key, not a separator.
  const words = text === '+' ? ['+'] : text.split('+').map((word) => word.trim());
  const name = words.pop() ?? '';
  let modifiers = 0;
  for (const word of words) {
    const modifier = MODIFIERS[word.toLowerCase()];
    if (modifier === undefined) throw unknownKey(text);
    modifiers |= modifier.bit;
  }
  return { ...plainKey(name, modifiers, text), modifiers };
}

function plainKey(name: string, modifiers: number, whole: string): KeyEvent {
  const named = NAMED[name.toLowerCase()];
  if (named !== undefined) {
    const code = named.key === ' ' ? 'Space' : named.key;
    const { keyCode, ...key } = named;
    return { ...key, code, windowsVirtualKeyCode: keyCode };
  }
  const functionKey = /^F([1-9]|1[0-2])$/i.exec(name)?.[1];
  if (functionKey !== undefined) {
    return { key: `F${functionKey}`, code: `F${functionKey}`, windowsVirtualKeyCode: 111 + Number(functionKey) };
  }
  if ([...name].length !== 1) throw unknownKey(whole);
  const upper = name.toUpperCase();
  const code = /^[A-Z]$/.test(upper) ? `Key${upper}` : /^\d$/.test(name) ? `Digit${name}` : undefined;
  const key = {
    key: modifiers & 8 ? upper : name,
    windowsVirtualKeyCode: upper.codePointAt(0) ?? 0,
    ...(code === undefined ? {} : { code }),
  };
  // With Control, Alt or Meta held down a letter is a command and writes nothing.
  return modifiers & 7 ? key : { ...key, text: key.key };
}

function unknownKey(text: string): SvcError {
  const help = 'Use names like Enter, Tab, Escape, ArrowDown, F5, a single character, or Control+A.';
  return new SvcError('invalid_input', `There is no key called ${JSON.stringify(text)}.`, { help });
}
