// `svc ask`: one question, one answer on stdout. Everything else goes to stderr, so that pipes get the answer only.

import { type Conversation, continueConversation, startConversation } from '../../chat/conversation.ts';
import { SvcError } from '../../core/errors.ts';
import type { CliContext, CommandModule } from '../command.ts';
import { addExamples, printJson } from '../listing.ts';
import { lexMarkdown, markdownRows } from '../markdown-rows.ts';
import { createTurnView, paintFor } from '../turn-view.ts';
import { withApp } from '../with-app.ts';

const MAX_INPUT_BYTES = 4 * 1024 * 1024;

interface AskOptions {
  continue?: string | true;
  model?: string;
  json?: true;
  quiet?: true;
}

export const ask: CommandModule = {
  define(command, context) {
    command
      .description('Ask one question and print the answer. Text that is piped in is put below the question.')
      .argument('[question...]', 'the question; without it everything comes from stdin')
      .option('-c, --continue [session]', 'ask in the newest session, or in this one')
      .option('-m, --model <name>', 'use this model of the configured server')
      .option('-q, --quiet', 'do not show tool calls on stderr')
      .option('--json', 'print JSON: session, answer and usage');
    addExamples(command, [
      'svc ask "What time is it in Tokyo?"',
      'git diff | svc ask "Write a commit message for this"',
      'svc ask --json "Name three primes" | jq -r .answer',
    ]);
    command.action((words: string[], options: AskOptions) =>
      withApp(context, async (app) => {
        const prompt = await promptOf(words.join(' ').trim(), context);
        const deps = await (await app.agent()).conversation();
        const conversation = await open(deps, options.continue);
        conversation.useModel(options.model);
        const answer = await answerTo(prompt, conversation, context, options);
        print(context, options, conversation.sessionId, answer);
      }),
    );
  },
};

async function open(deps: Parameters<typeof startConversation>[0], wanted: string | true | undefined) {
  if (wanted === undefined) return startConversation(deps);
  return (await continueConversation(deps, wanted === true ? undefined : wanted)).conversation;
}

async function promptOf(question: string, { stdin }: CliContext): Promise<string> {
  const piped = stdin.isTTY ? '' : (await readAll(stdin)).trim();
  const prompt = [question, piped].filter((part) => part !== '').join('\n\n');
  if (prompt !== '') return prompt;
  throw new SvcError('usage', 'There is no question.', {
    help: 'Write it behind the command, e.g. svc ask "..."; or pipe it in.',
  });
}

async function readAll(stdin: NodeJS.ReadStream): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdin) {
    chunks.push(Buffer.from(chunk));
    bytes += chunks.at(-1)?.length ?? 0;
    if (bytes > MAX_INPUT_BYTES) {
      throw new SvcError('invalid_input', `More than ${MAX_INPUT_BYTES / 1024 / 1024} MB were piped in.`, {
        help: 'Pipe in the part that matters, or let the agent read the file itself.',
      });
    }
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function answerTo(prompt: string, conversation: Conversation, context: CliContext, options: AskOptions) {
  const interruption = new AbortController();
  const onSignal = () => interruption.abort();
  process.once('SIGINT', onSignal);
  const quiet = options.quiet || options.json;
  const view = quiet ? undefined : createTurnView(context.stderr, { answers: false });
  try {
    const { signal } = interruption;
    const result = await conversation.say(prompt, view ? { signal, onEvent: view.show } : { signal });
    view?.end();
    if (result.kind === 'answer') return result;
    if (result.kind === 'interrupted') throw new SvcError('model_failed', 'Interrupted.');
    throw new SvcError('model_failed', result.reason, result.help === undefined ? {} : { help: result.help });
  } finally {
    view?.end();
    process.off('SIGINT', onSignal);
  }
}

function print(
  context: CliContext,
  options: AskOptions,
  session: string,
  answer: { text: string; usage: { inputTokens: number; outputTokens: number } },
): void {
  const { stdout } = context;
  if (options.json) {
    const { inputTokens, outputTokens } = answer.usage;
    const usage = { input_tokens: inputTokens, output_tokens: outputTokens };
    printJson(context, { session, answer: answer.text, usage });
  } else if (stdout.isTTY) {
    const rows = markdownRows(lexMarkdown(answer.text), Math.max(20, stdout.columns - 1), paintFor(stdout));
    stdout.write(`${rows.join('\n')}\n`);
  } else {
    stdout.write(`${answer.text.trimEnd()}\n`);
  }
}
