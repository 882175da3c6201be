// What a person sees while the agent works: the answer as it streams, tool calls as they happen, and a line that says
// what is being waited for. It knows nothing of sessions and decides nothing.

import { styleText } from 'node:util';
import type { AgentEvent } from '../agent/agent.ts';
import { showInvisible } from '../core/untrusted.ts';
import { type AnswerScreen, createAnswerScreen } from './answer-screen.ts';
import { cutText, type Paint } from './wrap.ts';

const WAIT_AFTER_MS = 400;
const WAIT_EVERY_MS = 120;
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

export interface TurnView {
  show(event: AgentEvent): void;
  /** Takes the waiting line away and ends an open answer. */
  end(): void;
  /** Whole lines between everything else. */
  line(text: string): void;
}

type Out = NodeJS.WriteStream;

/** Colours where the stream has them; NO_COLOR and its kin are honoured. */
export const paintFor =
  (out: Out): Paint =>
  (style, text) =>
    styleText(style, text, { stream: out });

/** On a terminal everything is shown; elsewhere only whole lines, and answers as they were written. */
export function createTurnView(out: Out, options: { answers: boolean }): TurnView {
  return out.isTTY ? terminalView(out, options) : plainView(out, options);
}

function terminalView(out: Out, options: { answers: boolean }): TurnView {
  const paint = paintFor(out);
  const answer: AnswerScreen = createAnswerScreen(out, paint);
  const waiting = createWaitingLine(out, paint);
  let answering = false;

  const endAnswer = () => {
    if (answering) answer.end();
    answering = false;
  };
  const line = (text: string) => {
    waiting.hide();
    endAnswer();
    out.write(`${text}\n`);
  };
  waiting.start('waiting for the model');

  return {
    line,
    show(event) {
      switch (event.kind) {
        case 'text':
          if (!options.answers) break;
          waiting.hide();
          answering = true;
          answer.add(event.delta);
          break;
        case 'thinking':
          if (!answering) waiting.start('thinking');
          break;
        case 'tool_call':
          line(
            `${paint('cyan', '▸')} ${paint('bold', event.name)} ${paint('dim', fit(argumentsText(event.arguments), out, event.name.length + 3))}`,
          );
          waiting.start(event.name);
          break;
        case 'tool_result':
          line(paint('dim', fit(`  ${event.failed ? '✗' : '✔'} ${resultText(event.output)}`, out, 0)));
          waiting.start('waiting for the model');
          break;
        case 'notice':
          line(paint('dim', fit(`· ${event.text}`, out, 0)));
          waiting.start('waiting');
          break;
      }
    },
    end() {
      waiting.hide();
      endAnswer();
    },
  };
}

function plainView(out: Out, options: { answers: boolean }): TurnView {
  let text = '';
  const end = () => {
    if (text.trim() !== '' && options.answers) out.write(`${text.trimEnd()}\n`);
    text = '';
  };
  return {
    line(whole) {
      end();
      out.write(`${whole}\n`);
    },
    show(event) {
      if (event.kind === 'text') text += event.delta;
      if (event.kind === 'tool_call') {
        end();
        out.write(`> ${event.name} ${argumentsText(event.arguments)}\n`);
      }
    },
    end,
  };
}

/** One line at the bottom that says what is going on, rewritten in place and gone before anything else is written. */
function createWaitingLine(out: Out, paint: Paint) {
  let timer: NodeJS.Timeout | undefined;
  let shown = false;
  const hide = () => {
    clearTimeout(timer);
    timer = undefined;
    if (shown) out.write('\r\u001b[K');
    shown = false;
  };
  return {
    start(what: string) {
      hide();
      const since = performance.now();
      const draw = (frame: number) => {
        const seconds = Math.floor((performance.now() - since) / 1000);
        const text = `${FRAMES[frame % FRAMES.length]} ${what}${seconds > 0 ? ` ${seconds} s` : ''}`;
        out.write(`\r\u001b[K${paint('dim', fit(text, out, 0))}`);
        shown = true;
        timer = setTimeout(() => draw(frame + 1), WAIT_EVERY_MS);
      };
      timer = setTimeout(() => draw(0), WAIT_AFTER_MS);
    },
    hide,
  };
}

function argumentsText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return value === undefined ? '' : oneLine(String(value));
  const entries = Object.entries(value);
  const [only] = entries;
  if (entries.length === 1 && typeof only?.[1] === 'string') return oneLine(only[1]);
  return oneLine(
    entries.map(([key, part]) => `${key}: ${typeof part === 'string' ? part : JSON.stringify(part)}`).join(', '),
  );
}

function resultText(output: string): string {
  const lines = output.trim().split('\n');
  const more = lines.length > 1 ? ` (+${lines.length - 1} lines)` : '';
  return oneLine(lines[0] ?? '').slice(0, 200) + more;
}

const oneLine = (text: string): string => showInvisible(text.slice(0, 2000)).replaceAll(/\s+/g, ' ');

const fit = (text: string, out: Out, taken: number): string =>
  cutText(text, Math.max(10, (out.columns ?? 80) - 2 - taken))[0] ?? '';
