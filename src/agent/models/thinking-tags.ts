// Separates what a model thinks aloud between tags from what it answers. Only a block at the very start of an answer
// counts: a tag that is mentioned later is text.

export type Piece = { kind: 'text' | 'thinking'; delta: string };

export interface ThinkingTags {
  push(delta: string): Piece[];
  /** What is left when the answer ends. */
  end(): Piece[];
}

const TAGS = ['think', 'thinking', 'reasoning'] as const;
const OPENERS = TAGS.map((tag) => `<${tag}>`);

export function separateThinking(): ThinkingTags {
  let state: 'start' | 'thinking' | 'between' | 'text' = 'start';
  let held = '';
  let closer = '';

  const atStart = (): Piece[] => {
    const bare = held.trimStart();
    const opener = OPENERS.find((one) => bare.startsWith(one));
    if (opener) {
      state = 'thinking';
      closer = `</${opener.slice(1)}`;
      held = bare.slice(opener.length);
      return inThinking();
    }
    if (OPENERS.some((one) => one.startsWith(bare))) return [];
    state = 'text';
    return release('text');
  };

  const inThinking = (): Piece[] => {
    const at = held.indexOf(closer);
    if (at >= 0) {
      const thought = held.slice(0, at);
      held = held.slice(at + closer.length);
      state = 'between';
      return [...piece('thinking', thought), ...afterThinking()];
    }
    // The end of what is held may be the beginning of the closing tag.
    const keep = overlap(held, closer);
    const thought = held.slice(0, held.length - keep);
    held = held.slice(held.length - keep);
    return piece('thinking', thought);
  };

  /** The empty lines between thought and answer belong to neither. */
  const afterThinking = (): Piece[] => {
    held = held.trimStart();
    if (held !== '') state = 'text';
    return release('text');
  };

  const release = (kind: Piece['kind']): Piece[] => {
    const out = piece(kind, held);
    held = '';
    return out;
  };

  return {
    push(delta) {
      if (state === 'text' && held === '') return piece('text', delta);
      held += delta;
      if (state === 'start') return atStart();
      if (state === 'between') return afterThinking();
      return state === 'thinking' ? inThinking() : release('text');
    },
    end: () => release(state === 'thinking' ? 'thinking' : 'text'),
  };
}

/**
 * Some servers put the opening tag into the prompt, so that only the closing one arrives. Then everything before it was
 * thought, although it was shown as text.
 */
export function withoutStrayThinking(text: string): string {
  const closing = /<\/(?:think|thinking|reasoning)>\s*/.exec(text);
  if (!closing) return text;
  const before = text.slice(0, closing.index);
  return OPENERS.some((opener) => before.includes(opener)) ? text : text.slice(closing.index + closing[0].length);
}

const piece = (kind: Piece['kind'], delta: string): Piece[] => (delta === '' ? [] : [{ kind, delta }]);

/** How many characters at the end of the text begin the word. */
function overlap(text: string, word: string): number {
  for (let length = Math.min(word.length - 1, text.length); length > 0; length -= 1) {
    if (text.endsWith(word.slice(0, length))) return length;
  }
  return 0;
}
