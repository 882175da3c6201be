// `svc sessions`: what was said in earlier chats.

import type { Command } from 'commander';
import { SvcError } from '../../core/errors.ts';
import type { SessionEntry, StoredEntry } from '../../core/session.ts';
import { showInvisible } from '../../core/untrusted.ts';
import { listSessions, readSession } from '../../store/sessions.ts';
import type { CliContext, CommandModule } from '../command.ts';
import { addExamples, printJson, printListing } from '../listing.ts';
import { withApp } from '../with-app.ts';

export const sessions: CommandModule = {
  define(command, context) {
    command.description('List and show earlier chats.');
    addExamples(command, ['svc sessions list', 'svc sessions show <id>', 'svc chat --continue <id>']);
    defineList(command.command('list'), context);
    defineShow(command.command('show'), context);
  },
};

function defineList(command: Command, context: CliContext): void {
  command
    .description('List chat sessions, newest first.')
    .option('--limit <number>', 'how many at most', '50')
    .option('--json', 'print JSON');
  addExamples(command, ['svc sessions list', 'svc sessions list --limit 5 --json']);
  command.action((options: { limit: string; json?: true }) =>
    withApp(context, async (app) => {
      const limit = Number(options.limit);
      if (!Number.isInteger(limit) || limit < 1) throw new SvcError('usage', '--limit must be a whole number above 0.');
      const rows = await (await app.store()).read(listSessions({ limit }));
      printListing(context, rows, {
        json: options.json === true,
        empty: 'There are no chats yet. Start one with `svc chat`.',
        columns: [
          { title: 'SESSION', value: (row) => row.id },
          { title: 'LAST', value: (row) => isoTime(row.updatedAt) },
          { title: 'FIRST WORDS', value: (row) => row.title },
        ],
        toJson: (row) => ({
          id: row.id,
          title: row.title,
          created_at: isoTime(row.createdAt),
          updated_at: isoTime(row.updatedAt),
        }),
      });
    }),
  );
}

function defineShow(command: Command, context: CliContext): void {
  command
    .description('Show what was said in a session.')
    .argument('<session>', 'its id, from svc sessions list')
    .option('--json', 'print JSON');
  addExamples(command, ['svc sessions show <id>', 'svc sessions show <id> --json']);
  command.action((id: string, options: { json?: true }) =>
    withApp(context, async (app) => {
      const found = await (await app.store()).read(readSession({ sessionId: id }));
      if (!found) {
        throw new SvcError('not_found', `There is no chat session ${id}.`, {
          help: 'svc sessions list shows all of them.',
        });
      }
      if (options.json) {
        return printJson(context, {
          id: found.session.id,
          title: found.session.title,
          created_at: isoTime(found.session.createdAt),
          updated_at: isoTime(found.session.updatedAt),
          entries: found.entries.map(({ entry, createdAt }) => ({ at: isoTime(createdAt), ...entryJson(entry) })),
        });
      }
      for (const text of found.entries.map(entryText)) if (text) context.stdout.write(`${showInvisible(text)}\n\n`);
    }),
  );
}

function entryText({ entry }: StoredEntry): string | undefined {
  switch (entry.kind) {
    case 'prompt':
      return `> ${entry.text.replaceAll('\n', '\n> ')}`;
    case 'model': {
      const calls = entry.toolCalls.map(
        (call) => `[${call.name} ${JSON.stringify(call.arguments ?? call.rawArguments ?? {})}]`,
      );
      return [entry.text.trim(), ...calls].filter((part) => part !== '').join('\n');
    }
    case 'tool_result':
      return `[${entry.failed ? 'failed' : 'result'}: ${shortened(entry.output)}]`;
    case 'interrupted':
      return `${entry.text}\n[interrupted]`.trim();
    case 'failed':
      return `[no answer: ${entry.reason}]`;
    case 'delivered':
      return `[from ${entry.source}]\n${entry.text}`;
    case 'compacted':
      return `[earlier messages were summarised: ${entry.summary}]`;
    case 'tool_started':
      return undefined;
  }
}

/** The wire spelling of an entry. */
function entryJson(entry: SessionEntry): Record<string, unknown> {
  switch (entry.kind) {
    case 'model': {
      const calls = entry.toolCalls.map(({ id, name, arguments: input, rawArguments }) => ({
        id,
        name,
        arguments: input ?? rawArguments,
      }));
      const usage = { input_tokens: entry.usage.inputTokens, output_tokens: entry.usage.outputTokens };
      return { kind: 'model', text: entry.text, tool_calls: calls, usage };
    }
    case 'tool_started':
      return { kind: entry.kind, call_id: entry.callId };
    case 'tool_result':
      return { kind: entry.kind, call_id: entry.callId, output: entry.output, failed: entry.failed };
    case 'compacted':
      return { kind: entry.kind, summary: entry.summary };
    default:
      return { ...entry };
  }
}

const shortened = (text: string): string => (text.length > 500 ? `${text.slice(0, 500).toWellFormed()} ...` : text);
const isoTime = (ms: number): string => new Date(ms).toISOString();
