// One thing that is wrong with the settings, told so that it can be mended without reading the source.

import { SvcError } from '../core/errors.ts';

export interface ConfigProblem {
  /** The file, or the name of the environment variable when it came from there. */
  file: string;
  line?: number;
  /** The key as written, e.g. `platforms.webhook.extra.port`; empty for the file as a whole. */
  key: string;
  /** What is wrong. Never holds the value of a secret. */
  message: string;
  /** What to do; empty when the message says it. */
  help: string;
}

/** All problems as one error, in the order of the file. */
export function configInvalid(problems: readonly ConfigProblem[]): SvcError {
  const count = problems.length === 1 ? 'The settings have a problem' : `The settings have ${problems.length} problems`;
  return new SvcError('config_invalid', `${count}:\n${problems.map(problemText).join('\n')}`, {
    help: 'docs/configuration.md describes every key; `svc config check` looks again.',
  });
}

export function problemText({ file, line, key, message, help }: ConfigProblem): string {
  const place = line === undefined ? file : `${file}:${line}`;
  return `  ${place}${key === '' ? '' : `  ${key}`}\n    ${message} ${help}`.trimEnd();
}
