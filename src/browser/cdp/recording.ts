// A recording: the settings of a supervisor and every event it took in, one JSON line each, with named marks in between.
// Playing it through the rules gives the same states again, without a browser.

import { reduce, type SupervisorEvent } from '../reduce.ts';
import { type BrowserState, initialState, type SupervisorSettings } from '../state.ts';

type RecordedLine = { settings: SupervisorSettings } | { event: SupervisorEvent } | { mark: string };

export class Recorder {
  #lines: string[] = [];

  constructor(settings: SupervisorSettings) {
    this.#write({ settings });
  }

  event(event: SupervisorEvent): void {
    this.#write({ event });
  }

  mark(name: string): void {
    this.#write({ mark: name });
  }

  get text(): string {
    return `${this.#lines.join('\n')}\n`;
  }

  #write(line: RecordedLine): void {
    this.#lines.push(JSON.stringify(line));
  }
}

/** Plays a recording and calls `onMark` with the state at each mark. Throws for text that is no recording. */
export function replay(text: string, onMark: (name: string, state: BrowserState) => void): BrowserState {
  const lines = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as RecordedLine);
  const [first, ...rest] = lines;
  if (first === undefined || !('settings' in first)) throw new Error('A recording begins with its settings.');
  let state = initialState(first.settings);
  for (const line of rest) {
    if ('event' in line) state = reduce(state, line.event).state;
    else if ('mark' in line) onMark(line.mark, state);
  }
  return state;
}
