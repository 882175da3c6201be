// Any server with `POST /v1/chat/completions`. Local ones get patience and are watched while they are silent.

import type { Clock } from '../../core/time.ts';
import { apiBase, originOf } from '../base-url.ts';
import { watchServer } from '../liveness.ts';
import { isLocalEndpoint } from '../local-endpoint.ts';
import type { Model, ModelReply } from '../model.ts';
import { askContextLength, askModels } from '../server-models.ts';
import { clocksFor } from '../timeouts.ts';
import { chatCall } from './chat-call.ts';
import { remoteModel, type ServerSettings } from './remote-model.ts';

export interface CompatibleOptions extends ServerSettings {
  /** Absent: the only model of the server. */
  name: string | undefined;
  baseUrl: string;
  apiKey: string | undefined;
  /** Silence of a local server before it is asked how it is. */
  silenceMs?: number;
}

// A name may move to another machine while a gateway runs for weeks.
const LOCAL_KNOWN_FOR_MS = 300_000;
const QUESTION_MS = 5000;
const MAX_QUESTIONS = 3;

export function openaiCompatibleModel(options: CompatibleOptions): Model {
  const server = originOf(options.baseUrl);
  const isLocal = rememberFor(LOCAL_KNOWN_FOR_MS, options.clock, () => isLocalEndpoint(options.baseUrl));
  const headers: Record<string, string> = options.apiKey ? { authorization: `Bearer ${options.apiKey}` } : {};
  let contextLength = options.contextLength;
  let questions = contextLength === undefined ? MAX_QUESTIONS : 0;
  let name = options.name;

  /** After an answer, because some programs know it only once the model is loaded; no request ever waits for it. */
  const learnContextLength = async (model: string): Promise<void> => {
    if (questions <= 0 || contextLength !== undefined) return;
    questions -= 1;
    const { call } = await options.transport.http();
    const { baseUrl, apiKey, transport } = options;
    const question = { call, baseUrl, apiKey, timeoutMs: QUESTION_MS, signal: transport.closing };
    contextLength ??= await askContextLength(question, model, await isLocal());
  };

  const model = remoteModel({
    label: `${name ?? 'the model'} at ${server}`,
    server,
    secret: options.apiKey,
    maxTokens: options.maxTokens,
    contextLength: () => contextLength,
    clock: options.clock,
    retryDelaysMs: options.retryDelaysMs,
    async connect() {
      const local = await isLocal();
      const { request, dispatcher } = await options.transport.open(local);
      const clocks = clocksFor(local, options.overrides);
      if (!local) return { request, dispatcher, clocks };
      const { call } = await options.transport.http();
      const { clock, silenceMs } = options;
      return {
        request,
        dispatcher,
        clocks,
        watch: (heard) =>
          watchServer({
            call,
            origin: server,
            model: name ?? '',
            headers,
            clock,
            ...heard,
            ...(silenceMs === undefined ? {} : { silenceMs, everyMs: silenceMs }),
          }),
      };
    },
    speak: (line) => chatCall({ base: apiBase(options.baseUrl), headers, model: name ?? '' }, line),
  });

  return {
    label: model.label,
    get contextLength() {
      return model.contextLength;
    },
    async complete(request) {
      if (name === undefined) {
        const found = await onlyModel(options);
        if (typeof found !== 'string') return found;
        name = found;
      }
      const reply = await model.complete(request);
      if (reply.kind === 'message') void learnContextLength(name);
      return reply;
    },
  };
}

/** The name of the one model that the server has; with several, a person must choose. */
async function onlyModel({ baseUrl, apiKey, transport }: CompatibleOptions): Promise<string | ModelReply> {
  const { call } = await transport.http();
  const listed = await askModels({ call, baseUrl, apiKey, timeoutMs: QUESTION_MS, signal: transport.closing });
  if (listed.kind === 'failed') {
    const help = 'Is the server running? `svc model --check` tests it; model.name says which model to use.';
    return { kind: 'failed', reason: `No model name is set, and ${listed.reason}.`, transient: true, help };
  }
  const [first, second] = listed.models;
  if (first && !second) return first.id;
  const names = listed.models.map(({ id }) => id).slice(0, 20);
  const reason = `No model name is set, and the server has ${listed.models.length}: ${names.join(', ')}.`;
  return { kind: 'failed', reason, transient: false, help: 'Choose one with `svc model` or set model.name.' };
}

function rememberFor<T>(ms: number, clock: Pick<Clock, 'monotonic'>, ask: () => Promise<T>): () => Promise<T> {
  let known: { value: Promise<T>; at: number } | undefined;
  return () => {
    const now = clock.monotonic();
    if (!known || now - known.at > ms) known = { value: ask(), at: now };
    return known.value;
  };
}
