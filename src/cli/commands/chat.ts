// `svc chat`: a conversation in the terminal.

import { type Conversation, continueConversation, startConversation } from '../../chat/conversation.ts';
import type { CommandModule } from '../command.ts';
import { addExamples } from '../listing.ts';
import { paintFor } from '../turn-view.ts';
import { withApp } from '../with-app.ts';

interface ChatOptions {
  continue?: string | true;
  model?: string;
}

export const chat: CommandModule = {
  define(command, context) {
    command
      .description('Talk with the agent. /help inside shows the commands; Ctrl-C interrupts an answer, Ctrl-D leaves.')
      .option('-c, --continue [session]', 'go on with the newest session, or with this one')
      .option('-m, --model <name>', 'use this model of the configured server');
    addExamples(command, ['svc chat', 'svc chat --continue', 'svc chat --model qwen3:8b']);
    command.action((options: ChatOptions) =>
      withApp(context, async (app) => {
        const agent = await app.agent();
        const deps = await agent.conversation();
        const start = (): Conversation => {
          const conversation = startConversation(deps);
          conversation.useModel(options.model);
          return conversation;
        };
        let conversation: Conversation;
        let note = '';
        if (options.continue === undefined) conversation = start();
        else {
          const found = await continueConversation(deps, options.continue === true ? undefined : options.continue);
          conversation = found.conversation;
          conversation.useModel(options.model);
          note = ` · continuing "${found.session.title}"`;
        }
        const { stdout } = context;
        const paint = paintFor(stdout);
        if (stdout.isTTY) {
          stdout.write(
            `${paint('bold', 'svc chat')} · ${conversation.model.label}${note} · ${paint('dim', '/help')}\n`,
          );
          if (agent.models.isDemo)
            stdout.write('No model is chosen yet: the demo answers. Choose one with `svc model`.\n');
        }
        const { runChat } = await import('../chat-loop.ts');
        await runChat({
          context,
          historyFile: app.paths.chatHistory,
          conversation,
          startNew: start,
          commands: agent.slashCommands,
        });
      }),
    );
  },
};
