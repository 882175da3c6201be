// Splits a line into words the way a shell would, without any of its powers: quotes and backslashes only.

/** Undefined when a quote is left open. */
export function splitWords(line: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote: '"' | "'" | undefined;
  for (let index = 0; index < line.length; index++) {
    const character = line.charAt(index);
    if (quote) {
      if (character === quote) quote = undefined;
      else if (quote === '"' && character === '\\' && /["\\$`]/.test(line.charAt(index + 1)))
        word += line.charAt(++index);
      else word += character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= '';
    } else if (character === '\\' && index + 1 < line.length) {
      word = (word ?? '') + line.charAt(++index);
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? '') + character;
    }
  }
  if (quote) return undefined;
  if (word !== undefined) words.push(word);
  return words;
}
