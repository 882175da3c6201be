// config.yaml without schema or checks, for commands that must begin quickly and only show something.
// Whatever has to be right goes through load.ts instead.

import { readIfExistsSync } from '../system/files.ts';

/** The plain value of the file; undefined when there is none or it is broken. The parser is loaded only if needed. */
export async function peekConfig(path: string): Promise<unknown> {
  try {
    const text = readIfExistsSync(path);
    if (text === undefined || text.trim() === '') return undefined;
    const { parse } = await import('yaml');
    return parse(text);
  } catch {
    return undefined;
  }
}
