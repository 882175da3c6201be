// An answer as it streams in: finished blocks stay as they are, only the last open block is written anew.

import type { Token } from 'marked';
import { showInvisible } from '../core/untrusted.ts';
import { lexMarkdown, markdownRows } from './markdown-rows.ts';
import type { Paint } from './wrap.ts';

const PAINT_EVERY_MS = 40;

export interface Screen {
  write(text: string): unknown;
  readonly columns?: number;
  readonly rows?: number;
}

export interface AnswerScreen {
  add(delta: string): void;
  /** Writes what is left and ends the line. Calling it without text writes nothing. */
  end(): void;
}

export function createAnswerScreen(screen: Screen, paint: Paint): AnswerScreen {
  let open = '';
  let committed = false;
  /** Rows of the open part, as they stand on the screen; the cursor is at the end of the last one. */
  let painted: string[] = [];
  let timer: NodeJS.Timeout | undefined;

  const rowsOf = (tokens: readonly Token[]) => {
    const rows = markdownRows(tokens, Math.max(20, (screen.columns ?? 80) - 1), paint);
    return committed && rows.length > 0 ? ['', ...rows] : rows;
  };

  const show = (rows: readonly string[]) => {
    let same = 0;
    while (same < rows.length && same < painted.length && rows[same] === painted[same]) same++;
    if (same === rows.length && same === painted.length) return;
    // What has scrolled off the screen cannot be written again.
    const reachable = Math.max(0, painted.length - (screen.rows ?? 24) + 1);
    // When rows go away, the last one that stays is written again, so that the cursor ends behind it.
    const from = Math.max(same < painted.length ? Math.min(same, rows.length - 1) : same, reachable, 0);
    const up = painted.length - 1 - from;
    const back = painted.length === 0 ? '' : up < 0 ? '\n' : `\r${up > 0 ? `\u001b[${up}A` : ''}\u001b[0J`;
    screen.write(back + rows.slice(from).join('\n'));
    painted = [...rows];
  };

  const repaint = () => {
    clearTimeout(timer);
    timer = undefined;
    if (open.trim() === '') return;
    open = showInvisible(open);
    const tokens = lexMarkdown(open);
    show(rowsOf(tokens));
    commit(tokens);
  };

  /** Lets go of all blocks before the last one: nothing that follows can change them. */
  const commit = (tokens: readonly Token[]) => {
    const last = tokens.findLastIndex((token) => token.raw.trim() !== '');
    if (last <= 0) return;
    const closed = tokens.slice(0, last);
    const rows = rowsOf(closed);
    if (rows.length === 0) return;
    painted = painted.slice(rows.length);
    committed = true;
    // Cut from the text itself: the last token does not hold the blanks at its end.
    open = open.slice(closed.reduce((length, token) => length + token.raw.length, 0));
  };

  return {
    add(delta) {
      open += delta.replaceAll('\r', '');
      timer ??= setTimeout(repaint, PAINT_EVERY_MS);
    },
    end() {
      repaint();
      if (painted.length > 0 || committed) screen.write('\n');
      open = '';
      painted = [];
      committed = false;
    },
  };
}
