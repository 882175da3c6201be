// One call of `POST /v1/chat/completions`. The SDK writes the request; the answer is read here, chunk by chunk as it
// arrives, because the SDK's chain of streams costs several times more per token and knows fewer habits of servers.

import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { isFields } from '../../core/fields.ts';
import type { Answer } from './answer.ts';
import { type CallDelta, type Chunk, jsonOrUndefined, readChunk } from './chat-chunk.ts';
import { excerpt, readChatStream } from './chat-stream.ts';
import type { Line, Wishes } from './remote-model.ts';
import { post, readWhole } from './socket.ts';
import { WireFault } from './wire-fault.ts';

export interface ChatEndpoint {
  /** With the version, without a slash at the end. */
  base: string;
  headers: Record<string, string>;
  model: string;
}

/** Fills the answer; resolves when it is whole. */
export async function chatCall(endpoint: ChatEndpoint, line: Line): Promise<void> {
  const [{ OpenAICompatibleChatLanguageModel }, { StreamingToolCallTracker }] = await Promise.all([
    import('@ai-sdk/openai-compatible'),
    import('@ai-sdk/provider-utils'),
  ]);
  const url = `${endpoint.base}/chat/completions`;
  const sdk = new OpenAICompatibleChatLanguageModel(endpoint.model, { provider: SDK_NAME, url: () => url });
  const body = await requestBody(sdk, line.call, line.streaming, line.wishes);
  const headers = { 'content-type': 'application/json', 'user-agent': 'svc', ...endpoint.headers };
  const reply = await post(line.socket, { url, headers, body, signal: line.signal });

  const tracker = new StreamingToolCallTracker<CallDelta>(
    { enqueue: (part) => part.type === 'tool-call' && line.answer.addCall(part) },
    { extractMetadata: signatureOf, buildToolCallProviderMetadata: (metadata) => metadata },
  );
  const take = (chunk: Chunk): void => {
    line.touch();
    if (chunk.error !== undefined) throw new WireFault('reported', chunk.error);
    addTo(line.answer, chunk);
    for (const call of chunk.calls) tracker.processDelta(call);
  };
  // A server that ignores the wish to stream answers in one piece.
  if (line.streaming && !/application\/json/i.test(reply.headers['content-type'] ?? '')) {
    const stream = readChatStream(take);
    for await (const bytes of reply.body) stream.push(bytes);
    stream.end();
  } else take(wholeChunk(await readWhole(reply.body)));
  tracker.flush();
}

const SDK_NAME = 'server';

async function requestBody(
  sdk: { prepareRequest(call: LanguageModelV4CallOptions): Promise<{ body: Record<string, unknown> }> },
  call: LanguageModelV4CallOptions,
  streaming: boolean,
  wishes: Wishes,
): Promise<string> {
  const { body } = await sdk.prepareRequest(call);
  const { max_tokens, ...rest } = body;
  return JSON.stringify({
    ...rest,
    ...(wishes.maxTokens ? { max_tokens } : { max_completion_tokens: max_tokens }),
    ...(streaming ? { stream: true } : {}),
    ...(streaming && wishes.usage ? { stream_options: { include_usage: true } } : {}),
  });
}

function addTo(answer: Answer, chunk: Chunk): void {
  if (chunk.thinking !== '') answer.addThinking(chunk.thinking);
  if (chunk.text !== '') answer.addText(chunk.text);
  if (chunk.finish === 'length') answer.markCut();
  answer.addUsage(chunk);
}

function wholeChunk(text: string): Chunk {
  const chunk = readChunk(jsonOrUndefined(text));
  if (chunk) return chunk;
  throw new WireFault('not_an_api', `The server answered with something else: ${excerpt(text)}`);
}

/** Some providers sign their calls and want the signature back. */
function signatureOf({ extra_content }: CallDelta): Record<string, { thoughtSignature: string }> | undefined {
  const google = extra_content?.google;
  const signature = isFields(google) ? google.thought_signature : undefined;
  return typeof signature === 'string' ? { [SDK_NAME]: { thoughtSignature: signature } } : undefined;
}
