// Which models a server offers and how much fits into them, as far as it tells.

import { type Fields, isFields } from '../core/fields.ts';
import type { HttpCaller } from '../system/fetch-json.ts';
import { apiBase, originOf } from './base-url.ts';

export interface OfferedModel {
  id: string;
  contextLength?: number;
}

export type ServerModels = { kind: 'models'; models: OfferedModel[] } | { kind: 'failed'; reason: string };

export interface ServerQuestion {
  call: HttpCaller['call'];
  baseUrl: string;
  apiKey: string | undefined;
  timeoutMs: number;
  signal?: AbortSignal;
}

/** `GET /v1/models`. Never throws, never names the key. */
export async function askModels(question: ServerQuestion): Promise<ServerModels> {
  const origin = originOf(question.baseUrl);
  const reply = await ask(question, `${apiBase(question.baseUrl)}/models`);
  if (reply.kind !== 'answer') return { kind: 'failed', reason: reply.reason };
  if (reply.status === 401 || reply.status === 403) {
    return { kind: 'failed', reason: `${origin} refused the key (${reply.status})` };
  }
  const list = isFields(reply.json) ? (reply.json.data ?? reply.json.models) : reply.json;
  if (reply.status !== 200 || !Array.isArray(list)) {
    return { kind: 'failed', reason: `${origin} has no list of models (answer ${reply.status})` };
  }
  const models = list.filter(isFields).flatMap((entry) => {
    const id = entry.id ?? entry.name;
    return typeof id === 'string' && id !== '' ? [{ id, ...contextOf(entry) }] : [];
  });
  return { kind: 'models', models };
}

/** Tokens that fit into one request to this model, or undefined when the server does not say. */
export async function askContextLength(
  question: ServerQuestion,
  model: string,
  local: boolean,
): Promise<number | undefined> {
  return (local ? await askAllotted(question, model) : undefined) ?? (await askListed(question, model));
}

/** Local programs tell more, each in its own way. */
async function askAllotted(question: ServerQuestion, model: string): Promise<number | undefined> {
  const origin = originOf(question.baseUrl);
  // What is really allotted comes before what the model was trained with.
  const props = await ask(question, `${origin}/props`);
  if (props.kind === 'answer' && isFields(props.json) && isFields(props.json.default_generation_settings)) {
    const allotted = positive(props.json.default_generation_settings.n_ctx);
    if (allotted !== undefined) return allotted;
  }
  for (const path of ['/api/ps', '/api/v0/models']) {
    const reply = await ask(question, origin + path);
    const list = reply.kind === 'answer' && isFields(reply.json) ? (reply.json.models ?? reply.json.data) : undefined;
    const entry = Array.isArray(list) ? list.filter(isFields).find((one) => nameFits(one, model)) : undefined;
    const loaded = positive(entry?.loaded_context_length) ?? positive(entry?.context_length);
    if (loaded !== undefined) return loaded;
  }
  return undefined;
}

async function askListed(question: ServerQuestion, model: string): Promise<number | undefined> {
  const listed = await askModels(question);
  return listed.kind === 'models' ? listed.models.find(({ id }) => id === model)?.contextLength : undefined;
}

const ask = ({ call, apiKey, timeoutMs, signal }: ServerQuestion, url: string): ReturnType<HttpCaller['call']> =>
  call({
    method: 'GET',
    url,
    timeoutMs,
    ...(apiKey === undefined ? {} : { headers: { authorization: `Bearer ${apiKey}` } }),
    ...(signal ? { signal } : {}),
  });

const nameFits = (entry: Fields, model: string): boolean =>
  [entry.id, entry.name, entry.model].some((name) => name === model || name === `${model}:latest`);

function contextOf(entry: Fields): { contextLength?: number } {
  const meta = isFields(entry.meta) ? entry.meta : {};
  const found = [entry.max_model_len, entry.context_length, entry.context_window, meta.n_ctx, meta.n_ctx_train]
    .map(positive)
    .find((value) => value !== undefined);
  return found === undefined ? {} : { contextLength: found };
}

const positive = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined;
