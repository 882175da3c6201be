// The chat: prompt, turn, prompt. Ctrl-C ends the turn, never the program; what arrives from elsewhere is shown in between.

import type { Conversation } from '../chat/conversation.ts';
import { readSlashLine } from '../chat/registry.ts';
import type { SlashCommand, SlashEffect } from '../chat/slash-command.ts';
import { messageOf, SvcError } from '../core/errors.ts';
import type { StoredEntry } from '../core/session.ts';
import { showInvisible } from '../core/untrusted.ts';
import { createChatInput } from './chat-input.ts';
import type { CliContext } from './command.ts';
import { lexMarkdown, markdownRows } from './markdown-rows.ts';
import { createTurnView, paintFor } from './turn-view.ts';
import { wrapSpans } from './wrap.ts';

const ARRIVED_EVERY_MS = 2000;

export interface ChatOptions {
  context: CliContext;
  historyFile: string;
  conversation: Conversation;
  /** A fresh one, for /new. */
  startNew(): Conversation;
  commands(current: () => Conversation): readonly SlashCommand[];
}

/** Resolves when the person leaves. */
export async function runChat(options: ChatOptions): Promise<void> {
  const { stdin, stdout, stderr } = options.context;
  const paint = paintFor(stdout);
  let conversation = options.conversation;
  const commands = options.commands(() => conversation);
  let running: AbortController | undefined;
  let hinted = false;

  const input = createChatInput({
    stdin,
    stdout,
    historyFile: options.historyFile,
    onInterrupt(line) {
      if (running) return running.abort();
      if (line === '' && hinted) return input.close();
      hinted = line === '';
      if (hinted)
        input.above(() => stdout.write(`${paint('dim', 'Ctrl-C again, Ctrl-D or /quit leaves the chat.')}\n`));
    },
    onEarly(message) {
      if (message.trim() !== '/stop') return false;
      running?.abort();
      return true;
    },
  });

  const complain = (error: unknown) => {
    stderr.write(`${messageOf(error)}\n`);
    if (error instanceof SvcError && error.help !== undefined) stderr.write(`  ${error.help}\n`);
  };

  const showArrived = async () => {
    for (const stored of await conversation.takeArrived()) stdout.write(arrivedText(stored, stdout));
  };

  const turn = async (prompt: string) => {
    running = new AbortController();
    const view = createTurnView(stdout, { answers: true });
    try {
      const result = await conversation.say(prompt, { signal: running.signal, onEvent: view.show });
      view.end();
      if (result.kind === 'interrupted') stdout.write(`${paint('dim', '[interrupted]')}\n`);
      if (result.kind === 'failed') complain(new SvcError('model_failed', result.reason, helpOf(result.help)));
    } catch (error) {
      view.end();
      complain(error);
    } finally {
      running = undefined;
    }
  };

  const slash = async (line: string): Promise<SlashEffect | undefined> => {
    running = new AbortController();
    try {
      const { command, words } = readSlashLine(line, commands);
      if (command.keepsSession) await conversation.keep(line.trim());
      return await command.run(words, {
        sessionId: conversation.sessionId,
        origin: conversation.origin,
        signal: running.signal,
        print: (text) => stdout.write(`${wrapped(text, stdout)}\n`),
      });
    } catch (error) {
      complain(error);
      return undefined;
    } finally {
      running = undefined;
    }
  };

  // A job that finishes while the person thinks is shown at once, above the line.
  const watch = setInterval(async () => {
    if (running || !(await conversation.hasArrived().catch(() => false)) || running) return;
    const arrived = await conversation.takeArrived();
    input.above(() => {
      for (const stored of arrived) stdout.write(arrivedText(stored, stdout));
    });
  }, ARRIVED_EVERY_MS).unref();

  try {
    for (;;) {
      await showArrived();
      const line = await input.next(`${paint('bold', '>')} `);
      if (line === undefined) break;
      hinted = false;
      input.mute();
      if (line.trim() === '') continue;
      if (!line.startsWith('/')) {
        await turn(line.trim());
        continue;
      }
      const effect = await slash(line);
      if (effect?.kind === 'quit') break;
      if (effect?.kind === 'use_model') conversation.useModel(effect.name);
      if (effect?.kind === 'stop') stdout.write('Nothing is running.\n');
      if (effect?.kind === 'new_session') {
        conversation = options.startNew();
        stdout.write('A new conversation.\n');
      }
    }
  } finally {
    clearInterval(watch);
    input.close();
  }
}

const screenWidth = (stdout: NodeJS.WriteStream): number => Math.max(20, (stdout.columns ?? 80) - 1);

function wrapped(text: string, stdout: NodeJS.WriteStream): string {
  const shown = showInvisible(text);
  if (!stdout.isTTY) return shown;
  const rows = shown.split('\n').flatMap((line) =>
    // Aligned listings keep their blanks as long as they fit.
    line.length < screenWidth(stdout) ? [line] : wrapSpans([{ text: line, styles: [] }], screenWidth(stdout), plain),
  );
  return rows.join('\n');
}

const plain = (_style: unknown, text: string): string => text;

const helpOf = (help: string | undefined): { help?: string } => (help === undefined ? {} : { help });

function arrivedText({ entry }: StoredEntry, stdout: NodeJS.WriteStream): string {
  if (entry.kind !== 'delivered') return '';
  const paint = paintFor(stdout);
  const rows = markdownRows(lexMarkdown(entry.text), screenWidth(stdout), paint);
  return `${paint('bold', `[${showInvisible(entry.source)}]`)}\n${rows.join('\n')}\n`;
}
