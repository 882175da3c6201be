// One call through a provider package of the AI SDK, which speaks its own language over our socket.

import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Line } from './remote-model.ts';
import { post, type Socket } from './socket.ts';
import { RefusedCall } from './wire-fault.ts';

/** Fills the answer; resolves when it is whole. */
export async function sdkCall(model: LanguageModelV4, line: Line): Promise<void> {
  if (line.streaming) await streamed(model, line);
  else await whole(model, line);
}

/** The fetch that the SDK gets. */
export function socketFetch(socket: Socket): typeof fetch {
  return async (input, init) => {
    try {
      const { status, headers, body } = await post(socket, {
        url: String(input),
        headers: Object.fromEntries(new Headers(init?.headers).entries()),
        body: typeof init?.body === 'string' ? init.body : '',
        signal: init?.signal ?? new AbortController().signal,
      });
      return new Response(streamOf(bytesOf(body)), { status, headers });
    } catch (error) {
      // Each provider reads its own errors.
      if (!(error instanceof RefusedCall)) throw error;
      return new Response(error.responseBody, { status: error.statusCode, headers: error.responseHeaders });
    }
  };
}

async function streamed(model: LanguageModelV4, { call, answer, touch }: Line): Promise<void> {
  const { stream } = await model.doStream(call);
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const part = next.value;
      // Pings keep the socket busy; only what carries an answer is progress.
      if (part.type !== 'ping') touch();
      if (part.type === 'text-delta') answer.addText(part.delta);
      else if (part.type === 'reasoning-delta') answer.addThinking(part.delta);
      else if (part.type === 'tool-call') answer.addCall(part);
      else if (part.type === 'error') throw part.error;
      else if (part.type === 'finish') end(answer, part);
    }
  } finally {
    // Closes the socket when the stream was left early; what that says is of no interest.
    reader.cancel().catch(() => {});
  }
}

async function whole(model: LanguageModelV4, { call, answer }: Line): Promise<void> {
  const result = await model.doGenerate(call);
  for (const part of result.content) {
    if (part.type === 'text') answer.addText(part.text);
    else if (part.type === 'reasoning') answer.addThinking(part.text);
    else if (part.type === 'tool-call') answer.addCall(part);
  }
  end(answer, result);
}

type Finished = Pick<Awaited<ReturnType<LanguageModelV4['doGenerate']>>, 'finishReason' | 'usage'>;

function end(answer: Line['answer'], { finishReason, usage }: Finished): void {
  if (finishReason.unified === 'length') answer.markCut();
  const { inputTokens, outputTokens } = usage;
  answer.addUsage({
    ...(inputTokens.total === undefined ? {} : { inputTokens: inputTokens.total }),
    ...(outputTokens.total === undefined ? {} : { outputTokens: outputTokens.total }),
  });
}

async function* bytesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* body;
}

/** Read only as fast as it is taken; cancelling closes the socket. */
function streamOf(source: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await source.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await source.return(undefined);
    },
  });
}
