// config.yaml without schema or checks, for commands that must begin quickly and only show something.
// Whatever has to be right goes through load.ts instead.

import { readIfExistsSync } from '../system/files.ts';

/**
 * The plain value of the file; undefined when there is none, when it is broken, and when it has none of the `keys` that the
 * caller looks for: then loading the parser, most of the time that such a command takes, is saved.
 */
export async function peekConfig(path: string, keys: readonly string[]): Promise<unknown> {
  try {
    const text = readIfExistsSync(path);
    if (text === undefined || !keys.some((key) => text.includes(key))) return undefined;
    const { parse } = await import('yaml');
    return parse(text);
  } catch {
    return undefined;
  }
}
