// Gathers the pieces of one answer: text apart from thinking, calls, usage.

import type { ToolCall, Usage } from '../../core/step.ts';
import { estimateTokens } from '../compaction.ts';
import type { ModelReply, ModelRequest } from '../model.ts';
import { type Piece, separateThinking, withoutStrayThinking } from './thinking-tags.ts';

export interface Answer {
  /** True once something was shown: from then on the call cannot be repeated unnoticed. */
  readonly shown: boolean;
  addText(delta: string): void;
  addThinking(delta: string): void;
  addCall(call: { toolCallId: string; toolName: string; input: string; providerMetadata?: object }): void;
  addUsage(usage: Partial<Usage>): void;
  /** The answer reached the token limit. */
  markCut(): void;
  finish(): ModelReply & { kind: 'message' };
}

export function gatherAnswer(request: ModelRequest): Answer {
  const tags = separateThinking();
  const calls: ToolCall[] = [];
  const usage: Partial<Usage> = {};
  let text = '';
  let thinking = '';
  let shown = false;
  let cut = false;

  const take = (pieces: readonly Piece[]): void => {
    // What was already on its way when the call was given up is not shown any more.
    if (request.signal.aborted) return;
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
    addCall({ toolCallId, toolName, input, providerMetadata }) {
      calls.push({
        id: toolCallId,
        name: toolName,
        ...argumentsOf(input),
        ...(providerMetadata ? { providerMetadata: { ...providerMetadata } } : {}),
      });
    },
    addUsage({ inputTokens, outputTokens }) {
      if (inputTokens !== undefined) usage.inputTokens = inputTokens;
      if (outputTokens !== undefined) usage.outputTokens = outputTokens;
    },
    markCut() {
      cut = true;
    },
    finish() {
      take(tags.end());
      if (cut) {
        request.onNotice?.('The answer was cut at model.max_tokens.');
        spoil(calls.at(-1));
      }
      const asked = request.messages.reduce((sum, message) => sum + estimateTokens(message.content), 1);
      const said = estimateTokens(text) + estimateTokens(thinking) + estimateTokens(JSON.stringify(calls));
      return {
        kind: 'message',
        text: withoutStrayThinking(text),
        toolCalls: calls,
        // Servers that do not count must not make the token limit meaningless.
        usage: { inputTokens: usage.inputTokens ?? asked, outputTokens: usage.outputTokens ?? said },
      };
    },
  };
}

/** A call that was cut off must not be mended into a whole one: half a file would be written. */
function spoil(call: ToolCall | undefined): void {
  if (call?.rawArguments !== undefined) call.rawArguments += ' [cut off: the answer reached the token limit]';
}

function argumentsOf(input: string): Pick<ToolCall, 'arguments' | 'rawArguments'> {
  try {
    return { arguments: JSON.parse(input) as unknown };
  } catch {
    return { rawArguments: input };
  }
}
