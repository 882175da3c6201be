// Gathers the parts of one answer: text apart from thinking, calls, usage.

import type { LanguageModelV4Content, LanguageModelV4FinishReason, LanguageModelV4Usage } from '@ai-sdk/provider';
import type { ToolCall } from '../../core/step.ts';
import { estimateTokens } from '../compaction.ts';
import type { ModelReply, ModelRequest } from '../model.ts';
import { type Piece, separateThinking, withoutStrayThinking } from './thinking-tags.ts';

export interface Answer {
  /** True once something was shown: from then on the call cannot be repeated unnoticed. */
  readonly shown: boolean;
  addText(delta: string): void;
  addThinking(delta: string): void;
  addCall(call: Extract<LanguageModelV4Content, { type: 'tool-call' }>): void;
  finish(reason: LanguageModelV4FinishReason, usage: LanguageModelV4Usage): ModelReply & { kind: 'message' };
}

export function gatherAnswer(request: ModelRequest): Answer {
  const tags = separateThinking();
  const calls: ToolCall[] = [];
  let text = '';
  let thinking = '';
  let shown = false;

  const take = (pieces: readonly Piece[]): void => {
    for (const { kind, delta } of pieces) {
      shown = true;
      if (kind === 'text') {
        text += delta;
        request.onText?.(delta);
      } else {
        thinking += delta;
        request.onThinking?.(delta);
      }
    }
  };

  return {
    get shown() {
      return shown;
    },
    addText: (delta) => take(tags.push(delta)),
    addThinking: (delta) => take(delta === '' ? [] : [{ kind: 'thinking', delta }]),
    addCall: ({ toolCallId, toolName, input, providerMetadata }) => {
      calls.push({
        id: toolCallId,
        name: toolName,
        ...argumentsOf(input),
        ...(providerMetadata ? { providerMetadata: { ...providerMetadata } } : {}),
      });
    },
    finish(reason, usage) {
      take(tags.end());
      if (reason.unified === 'length') {
        request.onNotice?.('The answer was cut at model.max_tokens.');
        markCut(calls.at(-1));
      }
      const asked = request.messages.reduce((sum, message) => sum + estimateTokens(message.content), 0);
      const said = estimateTokens(text) + estimateTokens(thinking) + estimateTokens(JSON.stringify(calls));
      return {
        kind: 'message',
        text: withoutStrayThinking(text),
        toolCalls: calls,
        usage: {
          // Servers that do not count must not make the token limit meaningless.
          inputTokens: usage.inputTokens.total ?? asked,
          outputTokens: usage.outputTokens.total ?? said,
        },
      };
    },
  };
}

/** A call that was cut off must not be mended into a whole one: half a file would be written. */
function markCut(call: ToolCall | undefined): void {
  if (call?.rawArguments !== undefined) call.rawArguments += ' [cut off: the answer reached the token limit]';
}

function argumentsOf(input: string): Pick<ToolCall, 'arguments' | 'rawArguments'> {
  try {
    return { arguments: JSON.parse(input) as unknown };
  } catch {
    return { rawArguments: input };
  }
}
