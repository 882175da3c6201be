// The options of a job as a person or a model types them, and what they mean. Commands, the chat and the tool read them here,
// so that one spelling works everywhere.

import { SvcError } from '../core/errors.ts';
import type { Clearable, JobEdit } from './jobs.ts';
import { readSpan } from './span.ts';

export interface JobWords {
  schedule?: string;
  prompt?: string;
  name?: string;
  tz?: string;
  deliver?: string;
  /** Names separated by commas; an empty text takes all away. */
  skills?: string;
  script?: string;
  model?: string;
  toolsets?: string;
  grace?: string;
  overlap?: string;
  timeout?: string;
  retries?: string;
  expectEvery?: string;
  disabled?: boolean;
}

/** In an edit, an empty text or `none` takes the option away. */
export function readJobWords(words: JobWords): JobEdit {
  const clear: Clearable[] = [];
  const text = (value: string | undefined, field: Clearable): string | undefined => {
    if (value === undefined || (value !== '' && value !== 'none')) return value;
    clear.push(field);
    return undefined;
  };
  const span = (value: string | undefined, option: string, field: Clearable): number | undefined => {
    const given = text(value, field);
    if (given === undefined) return undefined;
    const ms = readSpan(given);
    if (ms !== undefined) return ms;
    throw new SvcError('invalid_input', `"${given.slice(0, 40)}" is not a length of time for ${option}.`, {
      help: `E.g. ${option} 30m, ${option} 26h or ${option} 2d.`,
    });
  };
  const script = text(words.script, 'script');
  const model = text(words.model, 'model');
  const toolsets = text(words.toolsets, 'toolsets');
  const graceMs = span(words.grace, '--grace', 'graceMs');
  const timeoutMs = span(words.timeout, '--timeout', 'timeoutMs');
  const expectEveryMs = span(words.expectEvery, '--expect-every', 'expectEveryMs');
  return {
    ...(words.schedule !== undefined && { schedule: words.schedule }),
    ...(words.prompt !== undefined && { prompt: words.prompt }),
    ...(words.name !== undefined && { name: words.name }),
    ...(words.tz !== undefined && { tz: words.tz }),
    ...(words.deliver !== undefined && { deliver: words.deliver }),
    ...(words.skills !== undefined && { skills: words.skills === 'none' ? [] : list(words.skills) }),
    ...(script !== undefined && { script }),
    ...(model !== undefined && { model }),
    ...(toolsets !== undefined && { toolsets: list(toolsets) }),
    ...(graceMs !== undefined && { graceMs }),
    ...(words.overlap !== undefined && { overlap: words.overlap }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(words.retries !== undefined && { retries: Number(words.retries) }),
    ...(expectEveryMs !== undefined && { expectEveryMs }),
    ...(words.disabled !== undefined && { enabled: !words.disabled }),
    ...(clear.length > 0 && { clear }),
  };
}

const list = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
