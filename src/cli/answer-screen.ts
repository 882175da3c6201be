// An answer as it streams in: finished blocks stay as they are, only the last open block is written anew.

import type { Token } from 'marked';
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
    const from = Math.max(same, reachable);
    const up = painted.length - 1 - from;
    const back = painted.length === 0 ? '' : up < 0 ? '\n' : `\r${up > 0 ? `\u001b[${up}A` : ''}\u001b[0J`;
    screen.write(back + rows.slice(from).join('\n'));
    painted = [...rows];
  };

  const repaint = () => {
    clearTimeout(timer);
    timer = undefined;
    if (open.trim() === '') return;
    const tokens = lexMarkdown(open);
    show(rowsOf(tokens));
    commit(tokens);
  };

  /** Lets go of all blocks before the last one: nothing that follows can change them. */
  const commit = (tokens: readonly Token[]) => {
    const last = tokens.findLastIndex((token) => token.type !== 'space');
    if (last <= 0) return;
    const closed = tokens.slice(0, last);
    const rows = rowsOf(closed);
    if (rows.length === 0) return;
    painted = painted.slice(rows.length);
    committed = true;
    open = tokens
      .slice(last)
      .map((token) => token.raw)
      .join('');
  };

  return {
    add(delta) {
      open += delta;
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
